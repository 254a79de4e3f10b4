import { randomBytes, randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { newReport } from '../check/report.ts';
import { checkAddresses, Unreachable } from '../check/run.ts';
import type { Subject } from '../check/service-under-check.ts';
import { renderTable } from '../check/table.ts';

const USAGE =
  'usage: petstore check BASE_URL [BASE_URL2] --key KEY [--key2 KEY2] [--write] [--json]';

export interface CheckIo {
  /** Keys may come from PETSTORE_API_KEY and PETSTORE_API_KEY_2; NO_COLOR is honoured. */
  env: Record<string, string | undefined>;
  stdout: NodeJS.WritableStream & { isTTY?: boolean };
  stderr: NodeJS.WritableStream;
  /** The day that decides whether getPet must be there or gone. */
  now?: Date;
}

class UsageError extends Error {}

/**
 * Checks a service against the specification, from outside. Answers the exit code: 0 when nothing is
 * broken, 1 when something is, 2 when the check could not be made.
 */
export async function check(args: string[], io: CheckIo): Promise<number> {
  try {
    const { subjects, asJson } = parseCommand(args, io);
    const report = newReport(subjects, await checkAddresses(subjects));
    const colours = io.stdout.isTTY === true && !io.env['NO_COLOR'];
    io.stdout.write(
      asJson ? `${JSON.stringify(report, null, 2)}\n` : renderTable(report, { colours }),
    );
    return report.totals.broken > 0 ? 1 : 0;
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof Unreachable)) throw error;
    const remedy =
      error instanceof Unreachable ? 'start the service there, or give the address it has' : USAGE;
    io.stderr.write(`petstore check: ${error.message}; ${remedy}\n`);
    return 2;
  }
}

const ADDRESSES_MAX = 2;
const KEY_SOURCES = [
  { flag: 'key', variable: 'PETSTORE_API_KEY' },
  { flag: 'key2', variable: 'PETSTORE_API_KEY_2' },
] as const;

function parseCommand(args: string[], io: CheckIo): { subjects: Subject[]; asJson: boolean } {
  const { values, positionals } = parseFlags(args);
  if (positionals.length === 0) throw new UsageError('the base address to check is missing');
  if (positionals.length > ADDRESSES_MAX) throw new UsageError('more than two addresses are given');
  if (positionals.length === 1 && values.key2 !== undefined) {
    throw new UsageError('--key2 belongs to a second address, which is missing');
  }
  const run = randomBytes(4).toString('hex');
  const subjects = positionals.map((address, index) => {
    const { flag, variable } = KEY_SOURCES[index === 0 ? 0 : 1];
    return {
      base: parseBase(address),
      key: parseKey(values[flag] ?? io.env[variable], `--${flag} or ${variable}`),
      mayWrite: values.write,
      now: io.now ?? new Date(),
      run,
      unwantedCategoryId: BigInt(randomInt(2 ** 40, 2 ** 47)),
    };
  });
  return { subjects, asJson: values.json };
}

function parseFlags(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        key: { type: 'string' },
        key2: { type: 'string' },
        write: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const [firstLine = 'the arguments cannot be read'] = error.message.split(/\.?\s*\n|\. /);
    throw new UsageError(firstLine, { cause: error });
  }
}

function parseBase(text: string): string {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw new UsageError('the base address must be a URL such as http://127.0.0.1:8080/v1');
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new UsageError('the base address must have no user name, password, query or fragment');
  }
  return url.href.replace(/\/+$/, '');
}

function parseKey(text: string | undefined, sources: string): string {
  if (text === undefined || text === '') throw new UsageError(`a key is missing: give ${sources}`);
  if (/^[\x21-\x7e]+$/.test(text)) return text;
  throw new UsageError(`a key must be visible ASCII characters without spaces: see ${sources}`);
}
