import assert from 'node:assert/strict';

/** The service of a recording generates this id for every request. */
export const REQUEST_ID = 'generated-id';

/** Every response has them, so they are asserted here and not recorded. */
const EVERYWHERE: Readonly<Record<string, string>> = {
  connection: 'close',
  'x-content-type-options': 'nosniff',
  'x-request-id': REQUEST_ID,
};
const ON_ERRORS = { 'cache-control': 'no-store', 'content-type': 'application/json' };
const helpOf = (code: unknown) => `</docs/errors#${String(code)}>; rel="help"`;
const DATE = /^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/;

/**
 * The lines of a response as they are recorded: its status with the body, and its headers in alphabetical order,
 * without those that are as everywhere.
 */
export function responseLines(
  status: number,
  { date, ...headers }: Readonly<Record<string, string | string[] | undefined>>,
  body: string,
): string[] {
  assert.match(String(date), DATE);
  const isError = status >= 400 && body !== '';
  const error = isError ? (JSON.parse(body) as Record<string, unknown>) : {};
  if (isError) {
    assert.deepEqual(Object.keys(error), ['code', 'message', 'status']);
    assert.equal(error['status'], status);
  }
  const usual: Readonly<Record<string, string>> = {
    ...EVERYWHERE,
    ...(isError && { ...ON_ERRORS, link: helpOf(error['code']) }),
    'content-length': String(Buffer.byteLength(body)),
  };
  const required = Object.keys({ ...EVERYWHERE, ...(isError && { ...ON_ERRORS, link: '' }) });
  const missing = required.filter((name) => headers[name] === undefined);
  const unusual = Object.entries(headers)
    .filter(([name, value]) => value !== usual[name])
    .map(([name, value]) => `${name}: ${String(value)}`);
  return [
    `${status} ${body}`.trimEnd(),
    ...[...unusual, ...missing.map((name) => `without ${name}`)].toSorted(),
  ];
}
