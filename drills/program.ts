import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { stolenMs } from '../harness/stolen-time.ts';
import type { Output } from '../src/cli/command.ts';
import { Progress, renderTable } from '../src/cli/terminal.ts';
import type { Drill, DrillOptions, DrillReport } from './drill.ts';
import { withRun, type Run } from './outcomes.ts';

const VIOLATIONS_SHOWN_MAX = 20;
const COUNT_MAX = 999_999_999;
/** Elsewhere than on a terminal, each progress line remains, so they are rare. */
const LINE_INTERVAL_MS = 10_000;
const REDRAW_INTERVAL_MS = 200;
/** One per core: with more, requests could fail only because the machine is too busy. */
const QUICK_AT_ONCE = availableParallelism();
/** A quick drill that failed while the host took more of its time than this is run once more. */
const STOLEN_SHARE_MIN = 0.01;

const USAGE = `npm run drill                                   what there is
npm run drill -- NAME… [--rounds N] [--seed S]  these drills
npm run drill -- all                            all drills, except those that must be named
npm run drill -- NAME… --quick                  few rounds, one drill per core; one that failed while the
                                                host of this machine was busy is run once more
npm run drill -- NAME… --seconds N              ends after that time, and lists what was not reached
npm run drill -- NAME… --write                  also writes the figures to docs/reliability.md
npm run drill -- bugs --commits N               only the bugs in files that the last N commits have changed
npm run drill -- bugs --list                    one line per bug, with the test file that noticed it last
npm run drill -- bugs --only TEXT               only the bugs whose name or file has this text
npm run drill -- bugs --matrix FOLDER           which near tests notice each bug of these files
npm run drill -- bugs --alone FILE              the bugs that no test file notices but this one

Each drill also runs on a variant that is broken on purpose, its control, which must report the violations that
the drill names. The log of a drill that failed is kept in artifacts/drills.
The exit code is 0 if no drill failed, 1 if one did, and 2 if the command line is wrong.
`;

const ALL = 'all';
const EARLY_END = 'the drill ended early';
const ROOT = fileURLToPath(new URL('../', import.meta.url));

export type DrillList = Readonly<Record<string, () => Promise<{ drill: Drill }>>>;

interface Selection {
  names: readonly string[];
  /** All drills but those that must be named. */
  isAll: boolean;
  rounds: number | undefined;
  seed: number;
  isQuick: boolean;
  seconds: number | undefined;
  isWritten: boolean;
}

interface Outcome {
  passed: number;
  failed: number;
  /** For the summary. */
  note?: string;
  isRepeated?: boolean;
  /** For docs/reliability.md. */
  entry?: Omit<Run, 'root'>;
}

/** Where the program keeps the logs of drills that failed, the document that `--write` changes, and a clock. */
export interface Places {
  logs: string;
  document: string;
  /** For how long the host has given the processors of this machine to others. */
  stolenMs: () => number;
}

const PLACES: Places = {
  logs: join(ROOT, 'artifacts', 'drills'),
  document: join(ROOT, 'docs', 'reliability.md'),
  stolenMs,
};

type Print = (text: string) => void;

class BadCommandLine extends Error {}

/** The program `npm run drill`. Returns the exit code. */
export async function runProgram(
  args: readonly string[],
  drills: DrillList,
  { stdout, stderr }: { stdout: Output; stderr: Output },
  places = PLACES,
): Promise<number> {
  try {
    const { values, positionals } = parse(args);
    const program = new Program(drills, { stdout, stderr }, places);
    if (values.help) stdout.write(USAGE);
    else if (positionals.length === 0) await program.list();
    if (values.help || positionals.length === 0) return 0;
    const names = positionals.filter((name) => name !== ALL);
    const unknown = names.find((name) => !Object.hasOwn(drills, name));
    if (unknown !== undefined) {
      const known = Object.keys(drills).join(', ');
      throw new BadCommandLine(
        `"${unknown}" is not a drill: it must be ${ALL}, or one of ${known}.`,
      );
    }
    return await program.runAll({
      names,
      isAll: positionals.includes(ALL),
      rounds: values.rounds === undefined ? undefined : parseCount('--rounds', values.rounds),
      seed: values.seed === undefined ? newSeed() : parseCount('--seed', values.seed),
      isQuick: values.quick,
      seconds: values.seconds === undefined ? undefined : parseCount('--seconds', values.seconds),
      isWritten: values.write,
    });
  } catch (error) {
    if (!(error instanceof BadCommandLine)) throw error;
    stderr.write(`${error.message}\n`);
    return 2;
  }
}

class Program {
  readonly #drills: DrillList;
  readonly #stdout: Output;
  readonly #places: Places;
  readonly #progress: Progress;
  readonly #intervalMs: number;
  #shownMs = 0;

  constructor(
    drills: DrillList,
    { stdout, stderr }: { stdout: Output; stderr: Output },
    places: Places,
  ) {
    this.#drills = drills;
    this.#places = places;
    this.#stdout = stdout;
    this.#progress = new Progress(stderr);
    this.#intervalMs = stderr.isTTY === true ? REDRAW_INTERVAL_MS : LINE_INTERVAL_MS;
  }

  async list(): Promise<void> {
    const rows = [];
    for (const [name, load] of Object.entries(this.#drills)) {
      const { drill } = await load();
      const named = drill.isNamedOnly === true ? ', only if named' : '';
      rows.push([name, `${drill.rounds} ${drill.unit}${named}`, drill.promise]);
    }
    this.#stdout.write(`${renderTable(rows)}\n${USAGE}`);
  }

  async runAll(selection: Selection): Promise<number> {
    const outcomes: Outcome[] = [];
    const unreached = await this.#select(selection);
    const waiting = [...unreached];
    const runNext = async (): Promise<void> => {
      const [name, drill] = waiting.shift() ?? [];
      if (name === undefined || drill === undefined) return;
      const outcome = await this.#runOrRepeat(name, drill, selection);
      outcomes.push(outcome);
      unreached.delete(name);
      if (selection.isWritten && outcome.entry !== undefined) this.#write(outcome.entry);
      await runNext();
    };
    const atOnce = selection.isQuick ? QUICK_AT_ONCE : 1;
    const all = Promise.all(Array.from({ length: atOnce }, runNext));
    const timeUp = new AbortController();
    const { seconds } = selection;
    const time =
      seconds === undefined ? [] : [sleep(seconds * 1_000, undefined, { signal: timeUp.signal })];
    await Promise.race([all, ...time]);
    timeUp.abort();
    const sum = (of: 'passed' | 'failed') => outcomes.reduce((total, each) => total + each[of], 0);
    for (const { note } of outcomes) if (note !== undefined) this.#stdout.write(`${note}\n`);
    for (const name of unreached.keys()) {
      this.#stdout.write(`Not reached in ${seconds} s: ${name}\n`);
    }
    const repeated = outcomes.filter(({ isRepeated }) => isRepeated === true).length;
    const repetitions = repeated === 0 ? '' : `, ${repeated} repeated`;
    this.#stdout.write(`all: ${sum('passed')} passed, ${sum('failed')} failed${repetitions}\n`);
    return sum('failed') === 0 ? 0 : 1;
  }

  /** The selected drills by their names, in their order. */
  async #select({ isAll, names }: Selection): Promise<Map<string, Drill>> {
    const selected = new Map<string, Drill>();
    for (const [name, load] of Object.entries(this.#drills)) {
      if (!isAll && !names.includes(name)) continue;
      const { drill } = await load();
      if (drill.isNamedOnly !== true || names.includes(name)) selected.set(name, drill);
    }
    return selected;
  }

  /** The log of a run that failed is kept, also if its repetition counts. */
  async #runOrRepeat(name: string, drill: Drill, selection: Selection): Promise<Outcome> {
    const [startedMs, stolenBeforeMs] = [performance.now(), this.#places.stolenMs()];
    const first = await this.#runOne(name, drill, selection);
    const tookMs = performance.now() - startedMs;
    const stolen = this.#places.stolenMs() - stolenBeforeMs;
    if (first.failed === 0 || !selection.isQuick || stolen < STOLEN_SHARE_MIN * tookMs)
      return first;
    const again = await this.#runOne(name, drill, selection);
    const why = `Repeated, because the host took ${Math.round(stolen)} ms of ${Math.round(tookMs)}`;
    const notes = [`${why}: ${first.note}`, ...(again.note === undefined ? [] : [again.note])];
    return { ...again, note: notes.join('\n'), isRepeated: true };
  }

  /** After each drill: a complete run takes hours, and may be ended early. */
  #write(entry: Omit<Run, 'root'>): void {
    const text = readFileSync(this.#places.document, 'utf8');
    writeFileSync(this.#places.document, withRun(text, { ...entry, root: ROOT }));
  }

  async #runOne(name: string, drill: Drill, selection: Selection): Promise<Outcome> {
    const { seed, isQuick } = selection;
    const texts: string[] = [];
    const print: Print = (text) => {
      texts.push(text);
      // The texts of several drills must not be mixed.
      if (!isQuick) this.#stdout.write(text);
    };
    try {
      print(`${name}: ${drill.promise}\n`);
      const missing = drill.findMissing?.() ?? false;
      if (missing !== false) {
        print(`${name}: skipped, because it ${missing}\n\n`);
        return { passed: 0, failed: 0, note: `Skipped ${name}: ${missing}` };
      }
      const rounds = selection.rounds ?? (isQuick ? drill.quickRounds : drill.rounds);
      const startedMs = performance.now();
      const options = { rounds, seed, ...this.#shownAs(name) };
      const report = await this.#report(drill.run, options);
      const seconds = Math.round((performance.now() - startedMs) / 1_000);
      const figures = { [drill.unit]: rounds, seed, seconds, ...report.figures };
      print(renderTable(Object.entries(figures)));
      for (const violation of report.violations.slice(0, VIOLATIONS_SHOWN_MAX)) {
        print(`VIOLATION ${violation}\n`);
      }
      const { violations } = report;
      if (violations.length > 0) {
        print(`Repeat: npm run drill -- ${name} --rounds ${rounds} --seed ${seed}\n`);
      }
      const control = await this.#runControl(name, drill, { seed, print });
      const failed = violations.length + (control.found === undefined ? 1 : 0);
      print(`${name}: ${report.passed} passed, ${failed} failed\n\n`);
      const failures = control.found === undefined ? [...violations, 'control failed'] : violations;
      const figuresOf = Object.entries(report.figures).map(([of, figure]) => `${of}: ${figure}`);
      const outcome = { checks: report.passed, failures, figures: figuresOf, seconds };
      const entry = { name, outcome, seed };
      if (failed === 0) return { passed: report.passed, failed, entry };
      const all = [...violations, 'control:', ...control.violations];
      const log = this.#keepLog(`${name}-${seed}`, `${texts.join('')}${all.join('\n')}\n`);
      const note = `${name} failed: ${violations[0] ?? 'its control'} (${log})`;
      return { passed: report.passed, failed, note, entry };
    } finally {
      if (isQuick) this.#stdout.write(texts.join(''));
    }
  }

  /** Returns the path, as seen from the project. */
  #keepLog(name: string, text: string): string {
    mkdirSync(this.#places.logs, { recursive: true });
    const file = join(this.#places.logs, `${name}.log`);
    writeFileSync(file, text);
    return relative(ROOT, file);
  }

  /** `found` is the first violation, if the control has found all that it must. */
  async #runControl(
    name: string,
    { control, quickRounds }: Drill,
    { seed, print }: { seed: number; print: Print },
  ): Promise<{ found: string | undefined; violations: readonly string[] }> {
    const options = { rounds: quickRounds, seed, ...this.#shownAs(`${name}, control`) };
    const { violations } = await this.#report(control.run, options);
    // A control that throws has shown nothing.
    const find = (text: string) =>
      violations.find((each) => each.includes(text) && !each.startsWith(EARLY_END));
    const found = find(control.finds[0] ?? '');
    const count = `control (${control.brokenBy}): ${violations.length} violations`;
    print(`${count}${found === undefined ? '' : `, such as: ${found}`}\n`);
    const missing = control.finds.filter((text) => find(text) === undefined);
    for (const text of missing) {
      print(`VIOLATION the control must find "${text}", and found ${violations[0] ?? 'nothing'}\n`);
    }
    return { found: missing.length === 0 ? found : undefined, violations };
  }

  /** A drill that throws has failed, and the drills after it still run. */
  async #report(run: Drill['run'], options: DrillOptions): Promise<DrillReport> {
    try {
      return await run(options);
    } catch (error) {
      const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
      const violations = [`${EARLY_END}: ${reason}`];
      return { passed: 0, violations, figures: {} };
    } finally {
      this.#progress.clear();
    }
  }

  #shownAs(title: string): Pick<DrillOptions, 'onProgress'> {
    return {
      onProgress: (text) => {
        const nowMs = performance.now();
        if (nowMs - this.#shownMs < this.#intervalMs) return;
        this.#shownMs = nowMs;
        this.#progress.show(`${title}: ${text}`);
      },
    };
  }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        rounds: { type: 'string' },
        seed: { type: 'string' },
        seconds: { type: 'string' },
        quick: { type: 'boolean', default: false },
        write: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    throw new BadCommandLine(`${(error as Error).message.split('. ')[0]}. See --help.`);
  }
}

function newSeed(): number {
  return Math.ceil(Math.random() * COUNT_MAX);
}

function parseCount(flag: string, text: string): number {
  const count = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (count > 0) return count;
  throw new BadCommandLine(`${flag} is "${text}": it must be an integer from 1 to ${COUNT_MAX}.`);
}
