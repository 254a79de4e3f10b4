import type { Tokens } from 'marked';
import { operations } from '../../http/operations.ts';
import { escapeHtml } from '../html.ts';

/** The rows of docs/errors.md, each with an address of its own. */
export function errorList(table: Tokens.Table, inline: (markdown: string) => string): string {
  const items = table.rows.map((cells) => {
    const [code = '', status = '', meaning = '', cause = '', remedy = ''] = cells.map(
      ({ text }) => text,
    );
    const id = code.replaceAll('`', '');
    return `<div class="error" id="${id}"><h3><code>${id}</code> <a class="anchor" href="#${id}" aria-label="Link to ${id}">#</a> <span class="status">${escapeHtml(status)}</span></h3><div><p>${inline(meaning)}</p><dl><dt>Cause</dt><dd>${inline(cause)}</dd><dt>Remedy</dt><dd>${inline(remedy)}</dd>${returnedBy(id)}</dl></div></div>`;
  });
  return items.join('\n');
}

function returnedBy(code: string): string {
  const those = operations.filter(({ errors }) => errors.some((each) => each === code));
  if (those.length === 0) return '';
  const links = those.map(
    ({ id, method, path }) => `<a href="reference#${id}"><code>${method} ${path}</code></a>`,
  );
  return `<dt>From</dt><dd>${links.join(', ')}</dd>`;
}
