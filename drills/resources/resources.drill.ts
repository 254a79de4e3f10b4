import { brokenBy } from '../broken/broken.ts';
import { drill, type Control } from '../drill.ts';
import { onBothStores } from '../stores.ts';
import { attackService } from './attacks.ts';
import { endure } from './endurance.ts';
import { overload } from './overload.ts';

// Legal requests are measured before each attack, during it, and while its sockets are closed, and beside them the same
// requests to a bare server: their p99 may be three times that before, as far as the bare server is not slower too.
drill(
  'slow and greedy clients do not slow down others, their sockets are closed by a deadline, and whatever strangers send, memory is limited and returns',
  { unit: 'dripping sockets', rounds: 2_000, quickRounds: 200 },
  (options) => attackService(options),
  {
    'a request may take for ever': {
      finds: ['sockets are open'],
      search: (options) =>
        attackService(options, { attacks: ['drip'], nodeFlags: brokenBy('waits-for-ever') }),
    },
    'each chunk of a body stays in memory': {
      finds: ['MiB were in use before'],
      search: (options) =>
        attackService(options, { attacks: ['mix'], nodeFlags: brokenBy('keeps-chunks') }),
    },
    'each new connection stops the process for a moment': {
      finds: ['p99 of legal requests'],
      search: (options) =>
        attackService(options, { attacks: ['abort'], nodeFlags: brokenBy('stops-at-connections') }),
    },
  },
);

// Requests of every kind, valid and invalid, on each store. The memory at the end is within 10 % of that after the first
// tenth.
drill(
  'the service needs no restart: memory, open files and the log of SQLite do not grow',
  { unit: 'requests', rounds: 5_000_000, quickRounds: 40_000 },
  (options) => onBothStores(({ database }) => endure(options, { database })),
  {
    'each request leaves 4 KiB behind, and some an open file': {
      finds: ['the memory grew', 'files were open'],
      search: (options) => endure(options, { nodeFlags: brokenBy('leaks') }),
    },
  },
);

const overloaded = (name: string, ...finds: string[]): Control => ({
  finds,
  search: (options) => overload(options, undefined, `./broken/${name}.ts`),
});

// A store that takes 2 ms per create gets five times what it can take, in an open loop, on each store. A bare server gets
// as many requests at the same time: the p99 of lists may be 6 times that of the bare server (or 5 ms), an accepted create
// may take 300 ms and a refusal 100 ms longer than a list, and at least half of what is accepted without overload must be
// accepted.
drill(
  'under overload, accepted creates keep their latency, the others are refused at once, and lists continue',
  { unit: 'seconds of overload', rounds: 30, quickRounds: 2 },
  (options) => onBothStores(({ database }) => overload(options, database)),
  {
    'every create is queued': overloaded(
      'queue-all',
      'no create was refused',
      'p99 of accepted creates',
    ),
    'every create is refused': overloaded('refuse-all', '0 creates per second were accepted'),
    'creates are refused after 5 s': overloaded('refuse-late', 'p99 of refusals'),
    'lists wait for refusals': overloaded('block', 'p99 of lists'),
  },
);
