import { parseArgs } from 'node:util';
import type { Output } from '../src/cli/command.ts';
import { Progress, renderTable } from '../src/cli/terminal.ts';
import type { Drill, DrillOptions, DrillReport } from './drill.ts';

const VIOLATIONS_SHOWN_MAX = 20;
const COUNT_MAX = 999_999_999;
/** Elsewhere than on a terminal, each progress line remains, so they are rare. */
const LINE_INTERVAL_MS = 10_000;
const REDRAW_INTERVAL_MS = 200;
/** Most drills wait most of the time, and quick ones do not judge how long something took. */
const QUICK_AT_ONCE = 3;

const USAGE = `npm run drill                                   what there is
npm run drill -- NAME… [--rounds N] [--seed S]  these drills
npm run drill -- all                            all drills, except those that must be named
npm run drill -- NAME… --quick                  few rounds, three drills at a time

Each drill also runs on a variant that is broken on purpose, its control, which must report violations.
The exit code is 0 if no drill failed, 1 if one did, and 2 if the command line is wrong.
`;

const ALL = 'all';

export type DrillList = Readonly<Record<string, () => Promise<{ drill: Drill }>>>;

interface Selection {
  names: readonly string[];
  /** All drills but those that must be named. */
  isAll: boolean;
  rounds: number | undefined;
  seed: number;
  isQuick: boolean;
}

interface Outcome {
  passed: number;
  failed: number;
  isSkipped?: boolean;
}

type Print = (text: string) => void;

class BadCommandLine extends Error {}

/** The program `npm run drill`. Returns the exit code. */
export async function runProgram(
  args: readonly string[],
  drills: DrillList,
  { stdout, stderr }: { stdout: Output; stderr: Output },
): Promise<number> {
  try {
    const { values, positionals } = parse(args);
    const program = new Program(drills, stdout, stderr);
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
  readonly #progress: Progress;
  readonly #intervalMs: number;
  #shownMs = 0;

  constructor(drills: DrillList, stdout: Output, stderr: Output) {
    this.#drills = drills;
    this.#stdout = stdout;
    this.#progress = new Progress(stderr);
    this.#intervalMs = stderr.isTTY === true ? REDRAW_INTERVAL_MS : LINE_INTERVAL_MS;
  }

  async list(): Promise<void> {
    const rows = [];
    for (const [name, load] of Object.entries(this.#drills)) {
      const { drill } = await load();
      const named = drill.isNamedOnly === true ? ', only if named' : '';
      rows.push([name, `${drill.rounds} ${drill.unit}${named}`, drill.purpose]);
    }
    this.#stdout.write(`${renderTable(rows, this.#stdout.columns)}\n${USAGE}`);
  }

  async runAll(selection: Selection): Promise<number> {
    const total = { passed: 0, failed: 0 };
    const notes: string[] = [];
    const waiting = Object.entries(this.#drills);
    const runNext = async (): Promise<void> => {
      const [name, load] = waiting.shift() ?? [];
      if (name === undefined || load === undefined) return;
      const { drill } = await load();
      const isOfAll = selection.isAll && drill.isNamedOnly !== true;
      const isSelected = isOfAll || selection.names.includes(name);
      if (isSelected) {
        const outcome = await this.#runOne(name, drill, selection);
        total.passed += outcome.passed;
        total.failed += outcome.failed;
        if (outcome.failed > 0) notes.push(`${name} failed`);
        if (outcome.isSkipped === true) notes.push(`${name} was skipped`);
      }
      await runNext();
    };
    await Promise.all(Array.from({ length: selection.isQuick ? QUICK_AT_ONCE : 1 }, runNext));
    const noted = notes.length === 0 ? '' : ` (${notes.join(', ')})`;
    this.#stdout.write(`all: ${total.passed} passed, ${total.failed} failed${noted}\n`);
    return total.failed === 0 ? 0 : 1;
  }

  async #runOne(name: string, drill: Drill, selection: Selection): Promise<Outcome> {
    const { seed, isQuick } = selection;
    const texts: string[] = [];
    // The texts of several drills must not be mixed.
    const print: Print = (text) => (isQuick ? texts.push(text) : this.#stdout.write(text));
    try {
      print(`${name}: ${drill.purpose}\n`);
      const missing = drill.findMissing?.();
      if (missing !== undefined) {
        print(`${name}: skipped, because ${missing}\n\n`);
        return { passed: 0, failed: 0, isSkipped: true };
      }
      const rounds = selection.rounds ?? (isQuick ? drill.quickRounds : drill.rounds);
      const startedMs = performance.now();
      const report = await this.#report(drill.run, { rounds, seed, ...this.#shownAs(name) });
      const seconds = Math.round((performance.now() - startedMs) / 1_000);
      const figures = { [drill.unit]: rounds, seed, seconds, ...report.figures };
      print(renderTable(Object.entries(figures)));
      for (const violation of report.violations.slice(0, VIOLATIONS_SHOWN_MAX)) {
        print(`VIOLATION ${violation}\n`);
      }
      if (report.violations.length > 0) {
        print(`Repeat: npm run drill -- ${name} --rounds ${rounds} --seed ${seed}\n`);
      }
      const isControlRed = await this.#runControl(name, drill, { seed, print });
      const failed = report.violations.length + (isControlRed ? 0 : 1);
      print(`${name}: ${report.passed} passed, ${failed} failed\n\n`);
      return { passed: report.passed, failed };
    } finally {
      this.#stdout.write(texts.join(''));
    }
  }

  /** Whether the control reported violations, as it must. A control that throws has shown nothing. */
  async #runControl(
    name: string,
    { control, quickRounds }: Drill,
    { seed, print }: { seed: number; print: Print },
  ): Promise<boolean> {
    const options = { rounds: quickRounds, seed, ...this.#shownAs(`${name}, control`) };
    const { violations, isEarlyEnd } = await this.#report(control.run, options);
    const [first] = violations;
    const count = `control (${control.brokenBy}): ${violations.length} violations`;
    print(`${count}${first === undefined ? '' : `, such as: ${first}`}\n`);
    const isRed = first !== undefined && isEarlyEnd !== true;
    if (!isRed) print('VIOLATION the control must report violations\n');
    return isRed;
  }

  /** A drill that throws has failed, and the drills after it still run. */
  async #report(
    run: Drill['run'],
    options: DrillOptions,
  ): Promise<DrillReport & { isEarlyEnd?: true }> {
    try {
      return await run(options);
    } catch (error) {
      const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
      const violations = [`the drill ended early: ${reason}`];
      return { passed: 0, violations, figures: {}, isEarlyEnd: true };
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
        quick: { type: 'boolean', default: false },
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
