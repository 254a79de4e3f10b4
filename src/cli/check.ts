import { randomBytes, randomInt } from 'node:crypto';
import { newReport } from '../../check/report.ts';
import { checkAddresses, Unreachable } from '../../check/run.ts';
import type { Subject } from '../../check/service-under-check.ts';
import { UsageError, type Values, type Variables } from '../setting.ts';
import { checkTable } from './check-table.ts';
import { defineCommand } from './command.ts';
import { missingKeyText } from './program-name.ts';

const KEY = {
  value: 'KEY',
  isSecret: true,
  parse: (text: string) => (/^[\x21-\x7e]+$/.test(text) ? text : undefined),
  mustBe: 'visible ASCII characters without spaces',
};
const OPTIONS = {
  key: { ...KEY, variable: 'PETSTORE_API_KEY', description: 'the API key of the first address' },
  key2: {
    ...KEY,
    variable: 'PETSTORE_API_KEY_2',
    description: 'the API key of the second address',
  },
};

export const check = defineCommand({
  purpose: 'Check any service against the specification, from outside',
  worksOn: 'service',
  arguments: [
    {
      name: 'BASE_URL',
      description: 'the address of the service, such as http://127.0.0.1:8080/v1',
    },
    {
      name: 'BASE_URL2',
      description: 'a second address, such as that of staging, to compare with the first',
      isOptional: true,
    },
  ],
  options: OPTIONS,
  switches: {
    write: 'also check the clauses that add animals; without it, the check only reads',
    json: 'write one JSON document',
  },
  notes: `PETSTORE_API_KEY and PETSTORE_API_KEY_2 hold the keys, so that no key appears in the list of
processes. The exit code is 1 when a clause is broken, and 2 when an address cannot be reached.`,
  examples: [
    'check http://127.0.0.1:8080/v1 --write',
    'check http://127.0.0.1:8080/v1 http://127.0.0.1:8090/v1 --json',
  ],
  async action({ arguments: addresses, options, switches, flags, io }) {
    if (addresses.length === 1 && flags['key2'] !== undefined) {
      throw new UsageError('--key2 is the key of a second base address, and there is only one.');
    }
    const subjects = subjectsOf(addresses, options, { mayWrite: switches.write, env: io.env });
    try {
      const report = newReport(subjects, await checkAddresses(subjects));
      io.stdout.write(
        switches.json ? `${JSON.stringify(report, null, 2)}\n` : checkTable(report, io),
      );
      return report.totals.broken > 0 ? 1 : 0;
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error;
      throw new UsageError(
        `${error.message}: start the service there, or give the address it has.`,
      );
    }
  },
});

function subjectsOf(
  addresses: readonly string[],
  { key, key2 }: Values<typeof OPTIONS>,
  { mayWrite, env }: { mayWrite: boolean; env: Variables },
): Subject[] {
  const run = randomBytes(4).toString('hex');
  const now = new Date();
  return addresses.map((address, index) => ({
    base: parseBase(address),
    key: index === 0 ? requireKey('key', key, env) : requireKey('key2', key2, env),
    mayWrite,
    now,
    run,
    unwantedCategoryId: BigInt(randomInt(2 ** 40, 2 ** 47)),
  }));
}

function requireKey(
  name: keyof typeof OPTIONS,
  key: string | undefined,
  variables: Variables,
): string {
  if (key !== undefined) return key;
  throw new UsageError(missingKeyText(OPTIONS[name].variable, variables));
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
