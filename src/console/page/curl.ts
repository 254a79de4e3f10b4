/** Where the command takes the key from: a command is pasted into tickets and kept in histories. */
export const KEY_VARIABLE = 'PETSTORE_API_KEY';

/** The request as a command for a POSIX shell, ready to be pasted. */
export function curlCommand(url: string, body?: string): string {
  const parts = ['curl', `-H "Authorization: Bearer $${KEY_VARIABLE}"`];
  if (body !== undefined) parts.push(`-H 'Content-Type: application/json'`, `-d ${quote(body)}`);
  return [...parts, quote(url)].join(' ');
}

/** Between single quotes a shell takes everything literally, but for the single quote itself. */
function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
