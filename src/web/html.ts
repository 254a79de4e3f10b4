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
