/** The encodings of text that spreadsheets write. UTF-16 is known by its byte order mark. */
export type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252';

/** `PK`: .xlsx, .ods and .numbers are ZIP archives. The other one is .xls. */
const SPREADSHEETS = [
  [0x50, 0x4b, 0x03, 0x04],
  [0xd0, 0xcf, 0x11, 0xe0],
];

/** Whether a file is a spreadsheet itself, and not text that one has saved. Its first 4 bytes tell. */
export function isSpreadsheet(start: Uint8Array): boolean {
  return SPREADSHEETS.some((bytes) => bytes.every((byte, at) => start[at] === byte));
}

/** The encoding that a byte order mark of 2 bytes states. */
export function markedEncoding([first, second]: Uint8Array): Encoding | undefined {
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : undefined;
}
