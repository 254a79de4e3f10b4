import { randomBytes, randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { newReport } from '../../check/report.ts';
import { checkAddresses, Unreachable } from '../../check/run.ts';
import type { Subject } from '../../check/service-under-check.ts';
import { firstSentence, UsageError } from '../config.ts';
import { checkTable } from './check-table.ts';
import type { Io } from './command.ts';
import { newPaint } from './terminal.ts';

/**
 * Checks any service against the specification, from outside. The exit code is 0 when no clause is broken,
 * 1 when one is, and 2 when an address cannot be reached.
 */
export async function check(args: string[], io: Io): Promise<number> {
  const { subjects, asJson } = parseCommand(args, io);
  try {
    const report = newReport(subjects, await checkAddresses(subjects));
    io.stdout.write(
      asJson ? `${JSON.stringify(report, null, 2)}\n` : checkTable(report, newPaint(io)),
    );
    return report.totals.broken > 0 ? 1 : 0;
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    io.stderr.write(
      `petstore: ${error.message}: start the service there, or give the address it has.\n`,
    );
    return 2;
  }
}

const KEY_SOURCES = [
  { flag: 'key', variable: 'PETSTORE_API_KEY' },
  { flag: 'key2', variable: 'PETSTORE_API_KEY_2' },
] as const;

function parseCommand(args: string[], io: Io): { subjects: Subject[]; asJson: boolean } {
  const { values, positionals } = parseFlags(args);
  if (positionals.length === 0 || positionals.length > KEY_SOURCES.length) {
    throw new UsageError(
      `check needs one base address or two, such as http://127.0.0.1:8080/v1; got ${positionals.length}.`,
    );
  }
  if (positionals.length === 1 && values.key2 !== undefined) {
    throw new UsageError('--key2 is the key of a second base address, and there is only one.');
  }
  const run = randomBytes(4).toString('hex');
  const now = new Date();
  const subjects = positionals.map((address, index) => {
    const { flag, variable } = KEY_SOURCES[index === 0 ? 0 : 1];
    return {
      base: parseBase(address),
      key: parseKey(values[flag] ?? io.env[variable], `--${flag} or ${variable}`),
      mayWrite: values.write,
      now,
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
    throw new UsageError(firstSentence(error));
  }
}

function parseBase(text: string): string {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw new UsageError('a base address must be a URL, such as http://127.0.0.1:8080/v1.');
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new UsageError('a base address must have no user name, password, query or fragment.');
  }
  return url.href.replace(/\/+$/, '');
}

function parseKey(text: string | undefined, sources: string): string {
  if (text === undefined || text === '') throw new UsageError(`a key is missing: give ${sources}.`);
  if (/^[\x21-\x7e]+$/.test(text)) return text;
  throw new UsageError(
    `${sources} is not usable: a key must be visible ASCII characters without spaces.`,
  );
}
