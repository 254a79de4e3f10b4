import { printable } from '../../../domain/printable.ts';

/** Stands for the key in the command, because commands end up in tickets and shell histories. */
export const KEY_VARIABLE = 'PETSTORE_API_KEY';

/** The text as JSON. A reader sees all of its characters, and the rest of the JSON keeps its order. */
export function jsonText(text: string): string {
  return printable(JSON.stringify(text));
}

/** The request as a curl command for a POSIX shell. */
export function curlCommand(url: string, body?: string): string {
  const parts = ['curl', `-H "Authorization: Bearer $${KEY_VARIABLE}"`];
  if (body !== undefined) parts.push(`-H 'Content-Type: application/json'`, `-d ${quote(body)}`);
  return [...parts, quote(url)].join(' ');
}

/** Within single quotes, a shell takes every character literally except the single quote. */
function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
