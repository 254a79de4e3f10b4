// Runs drills on this machine, with their files in memory: a disk would only make them slower. `npm run drill` lists them.

import '../harness/memory-folder.ts';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { parseArgs } from 'node:util';
import { findAnswer } from './bugs/questions.ts';
import { collect, linesOf, promisesOf, withRun } from './outcomes.ts';

const ROOT = join(import.meta.dirname, '..');
const DOCUMENT = join(ROOT, 'docs', 'reliability.md');
const COUNT_MAX = 999_999_999;
/** They take long, or need root. */
const NAMED_ONLY = ['patroni', 'bugs'];
const USAGE = `npm run drill                                   what there is
npm run drill -- NAME… [--rounds N] [--seed N]  these drills
npm run drill -- all                            all drills but ${NAMED_ONLY.join(' and ')}
npm run drill -- NAME… --quick                  few rounds, several drills at once
npm run drill -- NAME… --seconds N              ends after that time, and lists what was not reached
npm run drill -- NAME… --write                  writes what a full run has shown to docs/reliability.md
npm run drill -- bugs --commits N               only the bugs in files that the last N commits have changed
npm run drill -- bugs --list                    one line per bug, with the test file that noticed it last
npm run drill -- bugs --only TEXT               only the bugs whose name or file has this text
npm run drill -- bugs --matrix FOLDER           which near tests notice each bug of these files
npm run drill -- bugs --alone FILE              the bugs that no test file notices but this one
`;
const OPTIONS = {
  rounds: { type: 'string' },
  seed: { type: 'string' },
  seconds: { type: 'string' },
  commits: { type: 'string' },
  quick: { type: 'boolean', default: false },
  write: { type: 'boolean', default: false },
} as const;

const FILES = new Map(
  globSync('drills/*/*.drill.ts', { cwd: ROOT })
    .toSorted()
    .map((path) => [basename(path, '.drill.ts'), join(ROOT, path)]),
);

class BadCommandLine extends Error {}

const args = process.argv.slice(2);
const answer = args[0] === 'bugs' ? findAnswer(args.slice(1)) : undefined;
process.exit(await (answer?.(process) ?? main()));

async function main(): Promise<number> {
  try {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options: OPTIONS });
    if (positionals.length > 0) return await runDrills(select(positionals), values);
    for (const [name, promise] of promisesOf(readFileSync(DOCUMENT, 'utf8'))) {
      process.stdout.write(`${name.padEnd(12)} ${promise}\n`);
    }
    process.stdout.write(USAGE);
    return 0;
  } catch (error) {
    if (!(error instanceof BadCommandLine || error instanceof TypeError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 2;
  }
}

function select(given: readonly string[]): string[] {
  const all = [...FILES.keys()].filter((name) => !NAMED_ONLY.includes(name));
  const names = given.flatMap((name) => (name === 'all' ? all : [name]));
  const unknown = names.find((name) => !FILES.has(name));
  if (unknown === undefined) return names;
  const known = [...FILES.keys()].join(', ');
  throw new BadCommandLine(`"${unknown}" is not a drill: it must be all, or one of ${known}.`);
}

async function runDrills(
  names: readonly string[],
  values: ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>['values'],
): Promise<number> {
  if (values.write && (values.quick || values.rounds !== undefined)) {
    throw new BadCommandLine('--write is for full runs: leave out --quick and --rounds.');
  }
  const seed = parseCount('--seed', values.seed) ?? Math.ceil(Math.random() * COUNT_MAX);
  const seconds = parseCount('--seconds', values.seconds);
  for (const name of ['rounds', 'commits'] as const) {
    const count = parseCount(`--${name}`, values[name]);
    if (count !== undefined) process.env[`DRILL_${name.toUpperCase()}`] = String(count);
  }
  process.env['DRILL_SEED'] = String(seed);
  if (!values.quick) process.env['DRILL_FULL'] = '1';
  const stream = run({
    files: names.map((name) => FILES.get(name) ?? ''),
    concurrency: values.quick ? availableParallelism() + 1 : 1,
    execArgv: ['--test-force-exit'],
    ...(seconds !== undefined && { signal: AbortSignal.timeout(seconds * 1_000) }),
  });
  const outcomes = collect(stream, names);
  await pipeline(stream, new spec(), process.stdout, { end: false });
  process.stdout.write(`\nRepeat: npm run drill -- NAME --seed ${seed}\n${linesOf(outcomes)}`);
  for (const [name, outcome] of outcomes) {
    if (!values.write || !outcome.hasEnded || outcome.skipped.length > 0) continue;
    const text = readFileSync(DOCUMENT, 'utf8');
    writeFileSync(DOCUMENT, withRun(text, { name, outcome, seed, root: ROOT }));
  }
  return [...outcomes.values()].some(({ failures }) => failures.length > 0) ? 1 : 0;
}

function parseCount(flag: string, text: string | undefined): number | undefined {
  if (text === undefined || (/^\d{1,9}$/.test(text) && Number(text) > 0)) {
    return text === undefined ? undefined : Number(text);
  }
  throw new BadCommandLine(`${flag} is "${text}": it must be an integer from 1 to ${COUNT_MAX}.`);
}
