import { escapeHtml } from '../html.ts';

interface CodeBlock {
  label: string;
  code: string;
  /** Whether the reader is meant to copy it. */
  isCopied: boolean;
  /** Chooses the colours, and identifies the language for the tests that run it. */
  language: string;
}

/** A block of code. It can be scrolled with the keyboard. */
export function codeBlock({ label, code, isCopied, language }: CodeBlock): string {
  const text = coloured(code.trimEnd(), language);
  const copied = isCopied ? ' data-copy' : '';
  return `<div class="code"${copied} data-language="${language}"><pre tabindex="0" role="group" aria-label="${escapeHtml(label)}"><code>${text}</code></pre></div>\n`;
}

// What gets a colour: comments, strings, and keywords or names. They are enough to find one's way in a sample, and need no
// grammar of each language, as a library has it. Each group has the name of its element: <i>, <u> and <b>, because a
// class on each would more than triple what the colours cost in bytes.
const COMMENT = String.raw`(?<i>(?<!\S)(?:#|//).*)`;
const STRING = String.raw`(?<u>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|${'`[^`]*`'})`;
const SHELL = new RegExp(
  String.raw`${COMMENT}|(?<u>"(?:\\.|[^"\\])*"|'[^']*')|(?<=\s)(?<b>--?[A-Za-z][\w-]*)`,
  'g',
);
/** HTTP and JSON: the names of headers and fields. */
const MESSAGE = new RegExp(String.raw`(?<b>^[\w-]+(?=: )|"\w+"(?=:))|${STRING}`, 'gm');
/** One list for all languages: hardly any sample uses a keyword of another language as a name. */
const KEYWORDS =
  'async|await|break|catch|class|const|continue|def|defer|else|except|export|final|for|foreach|from|func|function|if|import|in|let|new|not|of|package|public|range|require|return|static|throw|throws|try|type|var|void|while|with';
const PROGRAM = new RegExp(String.raw`${COMMENT}|${STRING}|(?<![\w.$-])(?<b>${KEYWORDS})\b`, 'g');
const PATTERNS: Readonly<Record<string, RegExp>> = {
  sh: SHELL,
  curl: SHELL,
  http: MESSAGE,
  json: MESSAGE,
};

function coloured(code: string, language: string): string {
  let [html, end] = ['', 0];
  for (const { 0: token, index, groups = {} } of code.matchAll(PATTERNS[language] ?? PROGRAM)) {
    const [element] = Object.keys(groups).filter((name) => groups[name] !== undefined);
    html += `${escapeHtml(code.slice(end, index))}<${element}>${escapeHtml(token)}</${element}>`;
    end = index + token.length;
  }
  return html + escapeHtml(code.slice(end));
}
