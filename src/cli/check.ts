import { randomBytes, randomInt } from 'node:crypto';
import { newReport } from '../../check/report.ts';
import { checkAddresses, Unreachable } from '../../check/run.ts';
import type { Subject } from '../../check/service-under-check.ts';
import { parseValue, UsageError, type Variables } from '../setting.ts';
import { checkTable } from './check-table.ts';
import { defineCommand } from './command.ts';
import { missingKeyText } from './program-name.ts';

const KEY = {
  isSecret: true,
  parse: (text: string) => (/^[\x21-\x7e]+$/.test(text) ? text : undefined),
  mustBe: 'visible ASCII characters without spaces',
};
/** The key of each address. */
const VARIABLES = ['PETSTORE_API_KEY', 'PETSTORE_API_KEY_2'] as const;
const removedKey = (variable: string) =>
  `set ${variable} instead, so that no key appears in the list of processes`;

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
  switches: {
    write: 'also check the clauses that add animals; without it, the check only reads',
    json: 'write one JSON document',
  },
  removed: { '--key': removedKey(VARIABLES[0]), '--key2': removedKey(VARIABLES[1]) },
  notes: `PETSTORE_API_KEY has the key of the first address, and PETSTORE_API_KEY_2 that of the second. The
exit code is 1 when a clause is broken, and 2 when an address cannot be reached.`,
  examples: [
    'check http://127.0.0.1:8080/v1 --write',
    'check http://127.0.0.1:8080/v1 http://127.0.0.1:8090/v1 --json',
  ],
  async action({ arguments: addresses, switches, io }) {
    const subjects = subjectsOf(addresses, switches.write, io.env);
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
  mayWrite: boolean,
  variables: Variables,
): Subject[] {
  const run = randomBytes(4).toString('hex');
  const now = new Date();
  return addresses.map((address, index) => ({
    base: parseBase(address),
    key: requireKey(index === 0 ? VARIABLES[0] : VARIABLES[1], variables),
    mayWrite,
    now,
    run,
    unwantedCategoryId: BigInt(randomInt(2 ** 40, 2 ** 47)),
  }));
}

function requireKey(variable: string, variables: Variables): string {
  const text = variables[variable];
  if (text) return parseValue(variable, KEY, text);
  throw new UsageError(missingKeyText(variable, variables));
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
