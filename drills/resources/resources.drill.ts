import { brokenBy } from '../broken/broken.ts';
import { drill } from '../drill.ts';
import { onBothStores } from './stores.ts';
import { attackService } from './attacks.ts';
import { endure } from './endurance.ts';

// Legal requests are measured before each attack, during it, and while its sockets are closed, and beside them the same
// requests to a bare server: their p99 may be three times that before, as far as the bare server is not slower too. A
// quick run has other work beside it, and judges no times.
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
        attackService(options, {
          attacks: ['chunks with a key'],
          nodeFlags: brokenBy('keeps-chunks'),
        }),
    },
    'each new connection stops the process for a moment': {
      finds: ['p99 of legal requests'],
      search: (options) =>
        attackService(
          { ...options, rounds: 80 },
          { attacks: ['abort'], nodeFlags: brokenBy('stops-at-connections') },
        ),
      isFull: true,
    },
  },
);

// Requests of every kind, valid and invalid, on each store. The memory at the end is within 10 % of that after the first
// tenth.
drill(
  'the service needs no restart: memory, open files and the log of SQLite do not grow',
  { unit: 'requests', rounds: 5_000_000, quickRounds: 12_000 },
  (options) => onBothStores(({ database }) => endure(options, { database })),
  {
    'each request leaves 16 KiB behind, and some an open file': {
      finds: ['the memory grew', 'files were open'],
      search: (options) => endure(options, { nodeFlags: brokenBy('leaks') }),
    },
  },
);
