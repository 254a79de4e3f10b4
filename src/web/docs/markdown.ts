import { basename } from 'node:path';
import { Marked, type Token, type Tokens } from 'marked';
import { escapeHtml, heading, slugOf } from '../html.ts';
import { codeBlock } from './code-block.ts';
import { DOCS } from './contents.ts';
import { errorList } from './errors.ts';
import { isSample, languageName, sampleTabs, type Sample } from './samples.ts';

/** A part of a page that has an address: for the table of contents and the search. */
export interface Section {
  id: string;
  title: string;
  depth: number;
  /** The text that the search looks through and shows a part of. */
  text: string;
}

export interface Rendered {
  html: string;
  /** The text before the first section. */
  intro: string;
  sections: Section[];
}

/** Languages of plain code blocks, and how a screen reader announces them. */
const PLAIN_LABELS: Readonly<Record<string, string>> = {
  sh: 'Command',
  http: 'HTTP message',
  json: 'JSON',
};

/** Languages of the blocks that get a copy button. */
const COPIED = ['sh', 'html', 'js', 'ts', 'golang', 'py', 'java', 'php'];

/** Converts Markdown to HTML. Links of the form /docs/page become relative to `root`. */
export class Markdown {
  readonly #marked: Marked;
  readonly #values: Readonly<Record<string, string>>;
  #tabGroups = 0;

  constructor(root: string, values: Readonly<Record<string, string>>) {
    this.#values = values;
    this.#marked = new Marked({
      renderer: {
        // The page has its own h1.
        heading: ({ depth, text, tokens }) =>
          depth === 1 ? '' : heading(depth, slugOf(text), this.#inlineTokens(tokens)),
        code: ({ text, lang = '' }) =>
          codeBlock({
            label: PLAIN_LABELS[lang] ?? 'Example',
            code: text,
            isCopied: COPIED.includes(lang),
            language: lang,
          }),
        link: ({ href, tokens }) => link(root, href, this.#inlineTokens(tokens)),
        table: (table) =>
          isErrorTable(table) ? errorList(table, (cell) => this.inline(cell)) : false,
      },
    });
  }

  /** Converts a short text without paragraphs. */
  inline(text: string): string {
    return this.#marked.parseInline(this.fill(text), { async: false });
  }

  render(source: string): Rendered {
    const tokens = this.#marked.lexer(this.fill(source));
    return {
      html: groupSamples(tokens)
        .map((part) => ('samples' in part ? this.samples(part.samples) : this.#block(part.text)))
        .join(''),
      ...outlineOf(tokens),
    };
  }

  samples(codes: readonly Sample[]): string {
    this.#tabGroups += 1;
    return sampleTabs(`samples-${this.#tabGroups}`, codes);
  }

  /** The code blocks of a text that are samples in one of the languages. */
  samplesIn(source: string): Sample[] {
    return this.#marked.lexer(this.fill(source)).filter(isSample);
  }

  /** Replaces each {{name}} by its value. An unknown name is a mistake in the text. */
  fill(source: string): string {
    return source.replaceAll(/\{\{([\w ]+)\}\}/g, (_, name: string) => {
      const value = this.#values[name];
      if (value === undefined) throw new Error(`The text names an unknown value: ${name}`);
      return value;
    });
  }

  #block(tokens: Token[]): string {
    return this.#marked.parser(tokens);
  }

  #inlineTokens(tokens: Token[]): string {
    return this.#marked.Parser.parseInline(tokens, this.#marked.defaults);
  }
}

/** Files of the repository that are pages here, by the ends of their paths. */
const DOCUMENTS = [
  ['openapi.json', '/openapi.json'],
  ['sdk/README.md', '/docs#the-client-library'],
  ...DOCS.map(({ file, path }) => [basename(file), path]),
] as const;

function link(root: string, href: string, html: string): string {
  if (/^https?:/.test(href)) return `<a href="${escapeHtml(href)}">${html}</a>`;
  if (href.startsWith('#')) return `<a href="${href}">${html}</a>`;
  const [file = '', section] = href.split('#');
  const page = DOCUMENTS.find(([end = '']) => file.endsWith(end))?.[1];
  const path = page === undefined || section === undefined ? page : `${page}#${section}`;
  const target = href.startsWith('/') ? href : path;
  // Readers of the page do not have the other files of the repository.
  if (target === undefined) return html;
  return `<a href="${escapeHtml(root + target.slice(1)) || './'}">${html}</a>`;
}

/** The table of docs/errors.md. */
function isErrorTable(token: Token): token is Tokens.Table {
  return token.type === 'table' && (token as Tokens.Table).header[0]?.text === 'Code';
}

/** Neighbouring samples belong together: they are one program in several languages. */
function groupSamples(tokens: Token[]): ({ samples: Sample[] } | { text: Token[] })[] {
  const parts: ({ samples: Sample[] } | { text: Token[] })[] = [];
  for (const token of tokens) {
    const last = parts.at(-1);
    if (isSample(token)) {
      if (last !== undefined && 'samples' in last) last.samples.push(token);
      else parts.push({ samples: [token] });
    } else if (last !== undefined && 'text' in last) {
      last.text.push(token);
    } else if (token.type !== 'space') {
      parts.push({ text: [token] });
    }
  }
  return parts;
}

/** The text before the first section, and the sections. */
function outlineOf(tokens: Token[]): Omit<Rendered, 'html'> {
  const outline = { intro: '', sections: [] as Section[] };
  for (const token of tokens) {
    const section = outline.sections.at(-1);
    if (token.type === 'heading') {
      const { depth, text } = token as Tokens.Heading;
      const title = plain(text);
      if (depth > 1) outline.sections.push({ id: slugOf(text), title, depth, text: '' });
    } else if (isErrorTable(token)) {
      outline.sections.push(...token.rows.map(errorSection));
    } else if (section === undefined) {
      outline.intro = `${outline.intro} ${textOf(token)}`.trim();
    } else {
      section.text = `${section.text} ${textOf(token)}`.trim();
    }
  }
  return outline;
}

function errorSection(cells: Tokens.TableCell[]): Section {
  const [id = '', , meaning = ''] = cells.map(({ text }) => plain(text));
  return { id, title: id, depth: 3, text: meaning };
}

/** The visible text of a token, on one line. For a sample, only the name of its language. */
function textOf(token: Token): string {
  if (isSample(token)) return `${languageName(token)}.`;
  if (token.type === 'code' || token.type === 'html') return '';
  const children = childrenOf(token);
  const text =
    children.length === 0 && 'text' in token
      ? String(token.text)
      : children.map(textOf).join(BLOCKS.includes(token.type) ? ' ' : '');
  return text.replaceAll(/\s+/g, ' ');
}

/** Tokens whose children stand below or beside each other. */
const BLOCKS = ['list', 'list_item', 'table', 'blockquote'];

function childrenOf(token: Token): Token[] {
  if (token.type === 'list') return (token as Tokens.List).items;
  if (token.type === 'table') {
    const { header, rows } = token as Tokens.Table;
    return [header, ...rows].flat().flatMap(({ tokens }) => tokens);
  }
  return 'tokens' in token ? (token.tokens ?? []) : [];
}

function plain(markdown: string): string {
  return markdown.replaceAll('`', '');
}
