import { stateOfKey, type ApiKey } from '../domain/api-key.ts';
import type { DeprecatedCalls } from '../domain/store.ts';
import { defineCommand } from './command.ts';
import { openStoreByFlags, STORE_OPTIONS } from './store-flags.ts';
import { listPrinter, printable, timeText } from './terminal.ts';

export const deprecations = defineCommand({
  purpose: 'List the keys that have called the deprecated GET /v1/pets/{petId}',
  options: STORE_OPTIONS,
  switches: { json: 'write one key per line as JSON' },
  notes: `The calls of the last 7, 30 and 90 days are counted; days are in UTC, and today is the last one.
Every process of the service stores its calls after at most 5 seconds. In a pipe, each key is a
line of values separated by tabs, without a heading.`,
  examples: ['deprecations', 'deprecations --json'],
  action: async ({ switches, flags, io }) => {
    const { store } = await openStoreByFlags(flags, io.env, { mustExist: true });
    try {
      const now = new Date();
      const keys = new Map((await store.listApiKeys()).map((key) => [key.id, key]));
      const callers = await store.listDeprecatedCalls(now);
      if (callers.length === 0) io.stderr.write('No key has called a deprecated operation.\n');
      if (switches.json) {
        for (const caller of callers) io.stdout.write(callerJson(caller, keys, now));
        return 0;
      }
      const print = listPrinter(io, [
        { title: 'ID' },
        { title: 'NAME', isCut: true },
        { title: 'STATE' },
        { title: '7 DAYS', alignRight: true },
        { title: '30 DAYS', alignRight: true },
        { title: '90 DAYS', alignRight: true },
        { title: 'LAST CALL' },
      ]);
      print(
        callers.map(({ apiKeyId, last7Days, last30Days, last90Days, lastAt }) => {
          const key = keys.get(apiKeyId);
          const calls = [last7Days, last30Days, last90Days].map(String);
          const [name, state] = key ? [printable(key.name), stateOfKey(key, now)] : ['-', '-'];
          return [apiKeyId, name, state, ...calls, timeText(lastAt)];
        }),
      );
      return 0;
    } finally {
      await store.close();
    }
  },
});

function callerJson(
  { apiKeyId: id, ...calls }: DeprecatedCalls,
  keys: ReadonlyMap<string, ApiKey>,
  now: Date,
): string {
  const key = keys.get(id);
  const known = { name: key?.name ?? null, state: key ? stateOfKey(key, now) : null };
  return `${printable(JSON.stringify({ id, ...known, ...calls }))}\n`;
}
