/** The encodings of text that spreadsheets write. UTF-16 is known by its byte order mark. */
export type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252';

/** `PK`: .xlsx, .ods and .numbers are ZIP archives. The other one is .xls. */
const SPREADSHEETS = [
  [0x50, 0x4b, 0x03, 0x04],
  [0xd0, 0xcf, 0x11, 0xe0],
];
/** Control characters that no text contains: Windows-1252 accepts any bytes, even those of a picture. */
const NOT_TEXT = /[^\P{Cc}\t\n\v\f\r]/u;

/** Whether a file is a spreadsheet itself, and not text that one has saved. Its first 4 bytes tell. */
export function isSpreadsheet(start: Uint8Array): boolean {
  return SPREADSHEETS.some((bytes) => bytes.every((byte, at) => start[at] === byte));
}

/** The encoding that a byte order mark of 2 bytes states. */
export function markedEncoding([first, second]: Uint8Array): Encoding | undefined {
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : undefined;
}

export function asWindows1252(bytes: Uint8Array): string {
  return new TextDecoder('windows-1252').decode(bytes);
}

/** The text of a whole file, and its encoding: Windows-1252 where UTF-8 fails. Undefined if it is no text. */
export function findText(bytes: Uint8Array): { text: string; encoding: Encoding } | undefined {
  const encoding = markedEncoding(bytes) ?? 'utf-8';
  try {
    return { text: new TextDecoder(encoding, { fatal: true }).decode(bytes), encoding };
  } catch {
    const text = asWindows1252(bytes);
    if (encoding !== 'utf-8' || NOT_TEXT.test(text)) return undefined;
    return { text, encoding: 'windows-1252' };
  }
}
