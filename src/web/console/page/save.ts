import { element } from './dom.ts';

/** With it, spreadsheets read the file as UTF-8. `petstore import` and this page accept it. */
const BYTE_ORDER_MARK = '\uFEFF';

/** Offers the text as a file. */
export function saveCsv(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([BYTE_ORDER_MARK, text], { type: 'text/csv' }));
  element('a', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 0);
}
