// Puts bugs of the list into copies of the project, and tells which of them tests notice.

import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, devNull } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tierFiles } from './areas.ts';
import type { DrillOptions, DrillReport } from '../drill.ts';
import { inParallel, Sandbox } from './sandbox.ts';
import { Judge, type Notice } from './judge.ts';
import { allBugs, type Bug } from './list.ts';
import { searchOrder } from './search.ts';
import { NoticeRecord, RECORD_PATH, type NoticedBy } from './record.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** What came of each bug. It is complete after each one: a run takes long, and may be ended early. */
const LIST = join(ROOT, 'artifacts', 'bugs.txt');
/** At most so many at once. More than processors: most tests wait. */
const SANDBOXES = 2 * availableParallelism();

const ALL = allBugs();

/** The bugs whose name or file has the text, as if they were all. */
export function runOnly(
  text: string,
  onProgress: DrillOptions['onProgress'],
): Promise<DrillReport> {
  return tryBugs(
    ALL.filter(({ name, file }) => name.includes(text) || file.includes(text)),
    onProgress,
  );
}

/** Tries bugs with all test files that may notice them, and records which did. */
export function tryBugs(
  bugs: readonly Bug[],
  onProgress: DrillOptions['onProgress'],
): Promise<DrillReport> {
  const record = new NoticeRecord(RECORD_PATH);
  record.keep(new Set(ALL.map(({ name }) => name)));
  return run(bugs, onProgress, { list: LIST, record });
}

/** Tries bugs with the unit tests of their own files. */
export function tryWithUnits(
  bugs: readonly Bug[],
  onProgress: DrillOptions['onProgress'],
): Promise<DrillReport> {
  return run(bugs, onProgress, { list: devNull });
}

export function ownTest({ file }: Bug): string {
  return file.replace('.ts', '.unit.test.ts');
}

const OUTCOMES = ['noticed', 'not noticed', 'not noticed yet', 'skipped'] as const;

interface Result {
  outcome: (typeof OUTCOMES)[number];
  text: string;
  isViolation: boolean;
}

/** Without a record, only the unit test of the file that has the bug runs. */
async function run(
  bugs: readonly Bug[],
  onProgress: DrillOptions['onProgress'],
  { list, record }: { list: string; record?: NoticeRecord },
): Promise<DrillReport> {
  using stack = new DisposableStack();
  const sandboxes = Array.from({ length: Math.min(SANDBOXES, bugs.length) }, () =>
    stack.use(new Sandbox(ROOT)),
  );
  mkdirSync(dirname(LIST), { recursive: true });
  writeFileSync(list, '');
  const judge = new Judge(ROOT);
  const tier = tierFiles();
  const results: Result[] = [];
  const count = (of: Result['outcome']) => results.filter(({ outcome }) => outcome === of).length;
  await inParallel(sandboxes, bugs, async (sandbox, bug) => {
    const files =
      record === undefined ? [ownTest(bug)] : searchOrder(bug, { bugs: ALL, record, tier });
    const last = bug.drill === undefined ? record?.find(bug.name) : undefined;
    const isThere = last !== undefined && tier.includes(last.file);
    const { notice, result } = await tryBug(
      { judge, sandbox },
      bug,
      files,
      isThere ? last : undefined,
    );
    if (notice !== undefined && bug.drill === undefined) record?.set(bug.name, notice);
    results.push(result);
    appendFileSync(list, `${result.outcome}: ${result.text}\n`);
    const left = bugs.length - results.length;
    onProgress(`${count('noticed')} of ${results.length} bugs noticed, ${left} to go`);
  });
  return {
    passed: results.filter((each) => each.outcome === 'noticed' && !each.isViolation).length,
    violations: results.filter(({ isViolation }) => isViolation).map(({ text }) => text),
    figures: Object.fromEntries(OUTCOMES.map((outcome) => [outcome, count(outcome)])),
  };
}

async function tryBug(
  { judge, sandbox }: { judge: Judge; sandbox: Sandbox },
  bug: Bug,
  files: readonly string[],
  last: NoticedBy | undefined,
): Promise<{ notice?: Notice; result: Result }> {
  const { name, file, isUnnoticed } = bug;
  let notice: Notice | undefined;
  try {
    notice = await judge.notice(sandbox, bug, files, last);
  } catch (error) {
    const text = `${name}: ${(error as Error).message}`;
    return { result: { outcome: 'not noticed', text, isViolation: true } };
  }
  if (notice !== undefined) {
    const by = `${name} (${file}) by ${notice.file}: ${notice.title}: ${notice.reason}`;
    const text = isUnnoticed ? `remove the mark "not noticed yet": ${by}` : by;
    return { notice, result: { outcome: 'noticed', text, isViolation: isUnnoticed } };
  }
  const text = `${name} is not noticed by ${bug.drill ?? `${files.length} test files`} (${file})`;
  if (isUnnoticed) return { result: { outcome: 'not noticed yet', text, isViolation: false } };
  const isSkipped = await judge.isSkipped(sandbox, bug, files[0] ?? '');
  return {
    result: { outcome: isSkipped ? 'skipped' : 'not noticed', text, isViolation: !isSkipped },
  };
}
