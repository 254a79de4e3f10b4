// Runs drills, on this machine. `npm run drill` lists them.

import { findAnswer } from './bugs/questions.ts';
import { DRILLS } from './drills.ts';
import { runProgram } from './program.ts';

// What a drill has started is killed at the exit, which a signal would skip.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
// Of a drill that the time was not enough for, something may still run.
const args = process.argv.slice(2);
const answer = args[0] === 'bugs' ? findAnswer(args.slice(1)) : undefined;
process.exit(await (answer?.(process) ?? runProgram(args, DRILLS, process)));
