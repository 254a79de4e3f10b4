const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
};

export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => ENTITIES[character] ?? character);
}

/** The id of a heading in its URL: "2. Set the key" becomes "set-the-key". */
export function slugOf(title: string): string {
  return title
    .toLowerCase()
    .replace(/^\d+\.\s+/, '')
    .replaceAll(/[^a-z0-9_]+/g, '-')
    .replaceAll(/^-|-$/g, '');
}

export function heading(depth: number, id: string, html: string): string {
  const link = `<a class="anchor" href="#${id}" aria-label="Link to this section">#</a>`;
  return `<h${depth} id="${id}">${html} ${link}</h${depth}>\n`;
}

export interface CodeBlock {
  label: string;
  code: string;
  /** Whether the reader is meant to copy it. */
  isCopied: boolean;
  /** Identifies the language for the tests that run it. */
  language: string;
}

/** A block of code. It can be scrolled with the keyboard. The tab's key is filled in by a script. */
export function codeBlock({ label, code, isCopied, language }: CodeBlock): string {
  const text = escapeHtml(code.trimEnd()).replaceAll(
    escapeHtml('<API_KEY>'),
    '<span class="api-key">&lt;API_KEY&gt;</span>',
  );
  const copied = isCopied ? ' data-copy' : '';
  return `<div class="code"${copied} data-language="${language}"><pre tabindex="0" role="group" aria-label="${escapeHtml(label)}"><code>${text}</code></pre></div>\n`;
}

export interface Tab {
  label: string;
  value: string;
  html: string;
}

/** Tabs that need no script: radio buttons, and a style sheet that shows the panel of the checked one. */
export function tabs(options: { id: string; kind: string; legend: string; tabs: Tab[] }): string {
  const labels = options.tabs.map(({ label, value }, index) => {
    const checked = index === 0 ? ' checked' : '';
    return `<label><input type="radio" name="${options.id}" value="${value}"${checked}>${escapeHtml(label)}</label>`;
  });
  const panels = options.tabs.map(({ html }) => `<div class="panel">${html}</div>`);
  return `<div class="tabs ${options.kind}"><fieldset><legend class="hidden">${escapeHtml(options.legend)}</legend>${labels.join('')}</fieldset>${panels.join('')}</div>\n`;
}
