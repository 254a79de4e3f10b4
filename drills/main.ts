// Runs drills, on this machine. `npm run drill` lists them.

import { DRILLS } from './drills.ts';
import { runProgram } from './program.ts';

// What a drill has started is killed at the exit, which a signal would skip.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
// Of a drill that the time was not enough for, something may still run.
process.exit(await runProgram(process.argv.slice(2), DRILLS, process));
