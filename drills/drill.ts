// A drill breaks the service, or its surroundings, on purpose, and checks that every promise still holds. It is a file
// `NAME/NAME.drill.ts` of tests: searches, which pass if they find no violation, and controls, which pass if the same
// search notices a variant that is broken on purpose. `drills/run.ts` runs them.

import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { NOTICED } from './outcomes.ts';

// A signal would skip the handlers that kill what a drill has started.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const VIOLATIONS_SHOWN_MAX = 20;
const PROGRESS_MS = 20_000;
/** What `drills/run.ts` chooses. Without it, a drill is quick, and the same each time. */
const { DRILL_SEED = '1', DRILL_FULL, DRILL_ROUNDS } = process.env;
export const isQuick = DRILL_FULL === undefined;

export interface DrillOptions {
  rounds: number;
  /** Everything that is chosen at random follows from it. */
  seed: number;
  onProgress: (text: string) => void;
}

export interface DrillReport {
  /** How many checks held. A search that has checked nothing fails. */
  passed: number;
  /** One sentence per check that did not hold. */
  violations: readonly string[];
  /** Figures in the order in which they are shown. */
  figures: Readonly<Record<string, string | number>>;
}

export type Search = (options: DrillOptions) => Promise<DrillReport>;

interface Size {
  /** What a full run counts, such as "rounds" or "requests", and how many there are. */
  unit: string;
  rounds: number;
  /** The rounds of a quick run, and of a control. A few seconds. */
  quickRounds: number;
  /** What the drill needs and this machine lacks, as harness/needs.ts says it, or false. */
  skip?: string | false;
}

/** The search on a variant that is broken on purpose. Each of the texts must be part of a violation. */
export interface Control {
  finds: readonly string[];
  search: Search;
  /** Only in a full run: it needs a machine without other work. */
  isFull?: boolean;
}

/** A test of a promise, and one for each control, by what it breaks. */
export function drill(
  promise: string,
  size: Size,
  search: Search,
  controls: Readonly<Record<string, Control>>,
): void {
  const { unit, quickRounds, skip = false } = size;
  test(promise, { skip }, async (t) => {
    const rounds = Number(DRILL_ROUNDS ?? (isQuick ? quickRounds : size.rounds));
    const { passed, violations, figures } = await search(optionsOf(t, rounds));
    for (const [name, figure] of Object.entries({ checks: passed, [unit]: rounds, ...figures })) {
      t.diagnostic(`${name}: ${typeof figure === 'number' ? shown(figure) : figure}`);
    }
    if (violations.length > 0) assert.fail(violations.slice(0, VIOLATIONS_SHOWN_MAX).join('\n'));
    assert.ok(passed > 0, 'nothing was checked');
  });
  for (const [brokenBy, control] of Object.entries(controls)) {
    if (isQuick && control.isFull === true) continue;
    test(`control: ${brokenBy}`, { skip }, async (t) => {
      const { violations } = await control.search(optionsOf(t, quickRounds));
      for (const text of control.finds) {
        const found = violations.find((violation) => violation.includes(text));
        assert.ok(found, `must find "${text}", and found ${violations[0] ?? 'nothing'}`);
        t.diagnostic(`${NOTICED}${found.split('\n')[0]}`);
      }
    });
  }
}

const shown = (figure: number) => figure.toLocaleString('en-US');

function optionsOf(t: TestContext, rounds: number): DrillOptions {
  let shownMs = performance.now();
  const onProgress = (text: string) => {
    if (performance.now() - shownMs < PROGRESS_MS) return;
    shownMs = performance.now();
    process.stderr.write(`${t.name}: ${text}\n`);
  };
  return { rounds, seed: Number(DRILL_SEED), onProgress };
}
