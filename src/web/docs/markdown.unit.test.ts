import assert from 'node:assert/strict';
import { test } from 'node:test';
import { slugOf } from '../html.ts';
import { codeBlock } from './code-block.ts';
import { Markdown } from './markdown.ts';

test('a text that names an unknown value is refused', () => {
  assert.throws(() => new Markdown('', {}).render('{{nothing}}'), /unknown value: nothing/);
});

test('links lead to pages of the site, to other hosts, and to no other file of the repository', () => {
  const links: [address: string, html: string][] = [
    ['https://pets.example/?a=1&b=2', '<a href="https://pets.example/?a=1&amp;b=2">text</a>'],
    ['http://pets.example', '<a href="http://pets.example">text</a>'],
    ['#part', '<a href="#part">text</a>'],
    ['/docs/errors#part', '<a href="../docs/errors#part">text</a>'],
    ['../docs/errors.md', '<a href="../docs/errors">text</a>'],
    ['openapi.json', '<a href="../openapi.json">text</a>'],
    ['sdk/README.md', '<a href="../docs#the-client-library">text</a>'],
    ['src/main.ts', 'text'],
    ['src/', 'text'],
    ['src#', 'text'],
    ['src/https:', 'text'],
  ];
  const markdown = new Markdown('../', {});
  for (const [address, html] of links) {
    assert.equal(markdown.inline(`[text](${address})`), html);
  }
  assert.equal(new Markdown('', {}).inline('[text](/)'), '<a href="./">text</a>');
});

test('the id of a heading has its words without its number', () => {
  const titles: [title: string, id: string][] = [
    ['2. Set the key', 'set-the-key'],
    ['12.  PETSTORE_API_KEY', 'petstore_api_key'],
    ['Version 2. Next', 'version-2-next'],
    ['"Quoted": a – b?', 'quoted-a-b'],
    ['`GET` and `HEAD`', 'get-and-head'],
  ];
  for (const [title, id] of titles) assert.equal(slugOf(title), id);
  const { html } = new Markdown('', {}).render('# Title\n\n## 1. *First*');
  assert.match(html, /^<h2 id="first">1\. <em>First<\/em> <a class="anchor" href="#first"/);
  assert.doesNotMatch(html, /Title/);
});

test('a block of code keeps its characters, and only what is meant to be copied can be copied', () => {
  const code = '  a < b && c > "d" # <API_KEY>\n\n';
  const block = { label: 'Example', code, isCopied: false, language: 'sh' };
  assert.match(
    codeBlock(block),
    /<code> {2}a &lt; b &amp;&amp; c &gt; <u>&quot;d&quot;<\/u> <i># &lt;API_KEY&gt;<\/i><\/code>/,
  );
  const markdown = new Markdown('', {});
  const shown = (language: string) => {
    const { html } = markdown.render(`\`\`\`${language}\ntext\n\`\`\``);
    return /<div class="code"(.*?)><pre .*? aria-label="(.*?)"/.exec(html)?.slice(1);
  };
  assert.deepEqual(shown('sh'), [' data-copy data-language="sh"', 'Command']);
  assert.deepEqual(shown('java'), [' data-copy data-language="java"', 'Example']);
  assert.deepEqual(shown('json'), [' data-language="json"', 'JSON']);
  assert.deepEqual(shown(''), [' data-language=""', 'Example']);
});

test('comments, strings, and keywords, options or names have a colour in each language', () => {
  const blocks: [language: string, code: string, html: string][] = [
    [
      'sh',
      "a --b 'c\nd' http://e#f # g 'h'",
      "a <b>--b</b> <u>'c\nd'</u> http://e#f <i># g 'h'</i>",
    ],
    ['curl', 'export A=b-c\ncurl -d "\\"e"', 'export A=b-c\ncurl <b>-d</b> <u>"\\"e"</u>'],
    ['json', '{"a":["b",1]}', '{<b>"a"</b>:[<u>"b"</u>,1]}'],
    ['http', 'ETag: "a"\n\n"b: c"', '<b>ETag</b>: <u>"a"</u>\n\n<u>"b: c"</u>'],
    [
      'ts',
      "const of2 = a.of('\\''); // new",
      "<b>const</b> of2 = a.of(<u>'\\''</u>); <i>// new</i>",
    ],
    ['go', 'func a() { b(`\n"`) }', '<b>func</b> a() { b(<u>`\n"`</u>) }'],
    ['python', "for a in b: c(f'd')", "<b>for</b> a <b>in</b> b: c(f<u>'d'</u>)"],
    ['', "it's for one", "it's <b>for</b> one"],
  ];
  for (const [language, code, html] of blocks) {
    const block = codeBlock({ label: '', code, isCopied: false, language });
    assert.ok(block.includes(`<code>${html.replaceAll('"', '&quot;')}</code>`), block);
  }
});

test('neighbouring samples are the tabs of one group, of which the first is open', () => {
  const languages = ['curl', 'go', 'sh', 'python'];
  const [curl, go, shell, python] = languages.map(
    (language) => `\`\`\`${language}\n${language} text\n\`\`\`\n\n`,
  );
  const source = `${curl}${go}Text.\n\n${shell}More.\n\n${python}`;
  const { html } = new Markdown('', {}).render(source);
  const tabs = [...html.matchAll(/name="(.*?)" value="(.*?)"(.*?)>(.*?)<\/label>/g)];
  assert.deepEqual(
    tabs.map(([, ...parts]) => parts),
    [
      ['samples-1', 'curl', ' checked', 'curl'],
      ['samples-1', 'go', '', 'Go'],
      ['samples-2', 'python', ' checked', 'Python'],
    ],
  );
  const blocks = [...html.matchAll(/data-copy data-language="(.*?)".*?<code>(.*?)<\/code>/g)];
  assert.deepEqual(
    blocks.map(([, language, code]) => [language, code]),
    languages.map((language) => [language, `${language} text`]),
  );
  assert.match(html, /<p>Text\.<\/p>[^]*<p>More\.<\/p>/);
  assert.match(html, /<div class="panel">.*?<p class="run">Paste it into a shell/s);
});

test('the search has the text of a page before its sections, and of each section with its lists, tables and samples', () => {
  const source = `# Title

Words and \`<code>\` before
the first section.

\`\`\`curl
lost
\`\`\`

## 1. First \`part\`

An *Emphasis* of \`Header-Name\`.

- list

| Left | Right |
|---|---|
| cell | \`a\` |

\`\`\`python
sample
\`\`\`

\`\`\`json
{}
\`\`\`

### Second
`;
  const { intro, sections } = new Markdown('', {}).render(source);
  assert.equal(intro, 'Words and <code> before the first section. curl.');
  const text = 'An Emphasis of Header-Name. list Left Right cell a Python with requests.';
  assert.deepEqual(sections, [
    { id: 'first-part', title: '1. First part', depth: 2, text },
    { id: 'second', title: 'Second', depth: 3, text: '' },
  ]);
});
