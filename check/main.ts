// Checks any service against the specification, from outside.

import { randomBytes, randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { newReport, type Report } from './report.ts';
import { checkService, Unreachable } from './run.ts';
import type { Subject } from './service-under-check.ts';
import { tableOf } from './table.ts';

const USAGE = `Usage: petstore-check [--write] [--json] BASE_URL

Checks a service against the specification, from outside. BASE_URL is its address, such as
http://127.0.0.1:8080/v1. The environment variable PETSTORE_API_KEY has an API key of the service.

  --write   also add animals, and check more; without it, the check only reads
  --json    write one JSON document
  --help    show this text

The exit code is 0 if the service does what each checked sentence states, 1 if not, and 2 if it could not be judged.
`;

/** Whether animals can be listed decides whether a run says anything. */
const LISTED = 'listPets.200';

export interface Io {
  env: Readonly<Record<string, string | undefined>>;
  stdout: { write: (text: string) => unknown; isTTY?: boolean };
  stderr: { write: (text: string) => unknown };
}

/** The program was called in a way that cannot work. */
class UsageError extends Error {}

export async function main(args: readonly string[], io: Io): Promise<number> {
  try {
    const { values, positionals } = parseOptions(args);
    if (values.help) {
      io.stdout.write(USAGE);
      return 0;
    }
    const subject = newSubject(positionals, values.write, io.env);
    const report = newReport(subject, await checkService(subject));
    const hasColours = io.stdout.isTTY === true && !io.env['NO_COLOR'];
    io.stdout.write(
      values.json ? `${JSON.stringify(report, null, 2)}\n` : tableOf(report, { hasColours }),
    );
    return exitCodeOf(report, io);
  } catch (error) {
    if (!(error instanceof UsageError) && !(error instanceof Unreachable)) throw error;
    io.stderr.write(`petstore-check: ${error.message}\n`);
    return 2;
  }
}

function exitCodeOf({ clauses, totals }: Report, { stderr }: Io): number {
  const why = clauses.find(({ id }) => id === LISTED)?.why;
  if (why !== undefined) {
    stderr.write(`petstore-check: listing animals could not be judged: ${why}.\n`);
    return 2;
  }
  return totals.broken > 0 ? 1 : 0;
}

/** No message repeats a value, which may be a key. */
function parseOptions(args: readonly string[]) {
  const flag = { type: 'boolean', default: false } as const;
  try {
    return parseArgs({
      args: [...args],
      options: { write: flag, json: flag, help: flag },
      allowPositionals: true,
    });
  } catch {
    throw new UsageError('an option is wrong: there are --write, --json and --help.');
  }
}

function newSubject(addresses: readonly string[], mayWrite: boolean, env: Io['env']): Subject {
  const [address, ...others] = addresses;
  if (address === undefined || others.length > 0) {
    throw new UsageError('give one address, such as http://127.0.0.1:8080/v1; see --help.');
  }
  return {
    base: parseBase(address),
    key: parseKey(env['PETSTORE_API_KEY'] ?? ''),
    mayWrite,
    now: new Date(),
    run: randomBytes(4).toString('hex'),
    unwantedCategoryId: BigInt(randomInt(2 ** 40, 2 ** 47)),
  };
}

function parseKey(text: string): string {
  if (text === '') throw new UsageError('PETSTORE_API_KEY is not set: it must be an API key.');
  if (/^[\x21-\x7e]+$/.test(text)) return text;
  throw new UsageError('PETSTORE_API_KEY must be visible ASCII characters without spaces.');
}

function parseBase(text: string): string {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw new UsageError('the address must be a URL, such as http://127.0.0.1:8080/v1.');
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new UsageError('the address must have no user name, password, query or fragment.');
  }
  return url.href.replace(/\/+$/, '');
}
