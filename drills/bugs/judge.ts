import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { TestResult } from './run-tests.ts';
import type { Sandbox } from './sandbox.ts';
import { withBug, type Bug } from './list.ts';
import type { NoticedBy } from './record.ts';

/** How Node.js calls an assertion or an error that a test has thrown. Running out of time is called otherwise. */
const THROWN = 'testCodeFailure';
/** The reason of a test that could not load a part of the program. */
const NOT_LOADED = /SyntaxError|ReferenceError|ERR_MODULE_NOT_FOUND|does not provide an export/;

export interface Notice {
  file: string;
  title: string;
  reason: string;
}

/** A test file, or only the tests of it that have these titles. */
interface Tests {
  file: string;
  titles: readonly string[];
}

/** Tells whether tests notice a bug. Knows no test. */
export class Judge {
  readonly #root: string;
  /** The results without a bug. */
  readonly #cleanRuns: { tests: Tests; results: Promise<TestResult[]> }[] = [];

  constructor(root: string) {
    this.#root = root;
  }

  /**
   * The first notice by one of the files, in their order, or by the drill that the bug names. A test that has noticed the
   * bug in another run comes first, and alone.
   */
  async notice(
    sandbox: Sandbox,
    bug: Bug,
    files: readonly string[],
    last?: NoticedBy,
  ): Promise<Notice | undefined> {
    const again = last && (await this.#noticeAgain(sandbox, bug, last));
    if (again !== undefined) return again;
    for (const tests of testsOf(bug, files)) {
      const notice = await this.#noticeBy(sandbox, bug, tests);
      if (notice !== undefined) return notice;
    }
    return undefined;
  }

  /** One run is enough: the record has a test only after it has failed twice with the bug, in another run of the drill. */
  async #noticeAgain(
    sandbox: Sandbox,
    bug: Bug,
    { file, title }: NoticedBy,
  ): Promise<Notice | undefined> {
    if (title === undefined) return undefined;
    const tests = { file, titles: [title] };
    const notice = await this.#try(sandbox, bug, tests);
    if (notice === undefined) return undefined;
    return (await this.#passes(sandbox, tests, notice.title)) ? notice : undefined;
  }

  /** A notice that occurs again, and does not occur without the bug. */
  async #noticeBy(sandbox: Sandbox, bug: Bug, tests: Tests): Promise<Notice | undefined> {
    const first = await this.#try(sandbox, bug, tests);
    if (first === undefined) return undefined;
    // The failed test alone is fast. It may fail only after others, or be part of a test.
    for (const repeated of [{ ...tests, titles: [first.title] }, tests]) {
      const again = await this.#try(sandbox, bug, repeated);
      if (again === undefined) continue;
      if (await this.#passes(sandbox, repeated, again.title)) return again;
    }
    return undefined;
  }

  /** All of these unit tests, which share a process, that notice the bug. */
  async noticingUnits(sandbox: Sandbox, bug: Bug, files: readonly string[]): Promise<string[]> {
    const before = new Set(await this.#failingOf(sandbox, files));
    const noticing = [];
    for (const file of await this.#withBug(sandbox, bug, () => this.#failingOf(sandbox, files))) {
      if (!before.has(file)) noticing.push(file);
    }
    return noticing;
  }

  async #failingOf(sandbox: Sandbox, files: readonly string[]): Promise<string[]> {
    const results = await sandbox.test(files);
    const failing = results.filter((result) => isThrown(result, ''));
    return files.filter((file) => failing.some(({ path }) => path.endsWith(`/${file}`)));
  }

  /** Whether nothing of the file, or of the drill, runs here, because of what this machine lacks. */
  async isSkipped(sandbox: Sandbox, bug: Bug, file: string): Promise<boolean> {
    const [tests] = testsOf(bug, [file]);
    const results = tests === undefined ? [] : await this.#withoutBug(sandbox, tests);
    const ends = results.filter(({ isSuite }) => !isSuite);
    return ends.length > 0 && ends.every(({ reason }) => reason.startsWith('needs'));
  }

  async #try(sandbox: Sandbox, bug: Bug, { file, titles }: Tests): Promise<Notice | undefined> {
    const isNotice = (result: TestResult) => isThrown(result, file);
    const results = await this.#withBug(sandbox, bug, () =>
      sandbox.test(file, { titles, isEnough: isNotice }),
    );
    const notice = results.find(isNotice);
    return notice && { file, title: notice.title, reason: notice.reason };
  }

  async #withBug<Result>(sandbox: Sandbox, bug: Bug, work: () => Promise<Result>): Promise<Result> {
    const content = withBug(bug, readFileSync(join(this.#root, bug.file), 'utf8'));
    using _ = sandbox.change({ file: bug.file, content });
    return await work();
  }

  async #passes(sandbox: Sandbox, tests: Tests, title: string): Promise<boolean> {
    const results = await this.#withoutBug(sandbox, tests);
    const outcomes = results.filter((each) => each.title === title);
    return outcomes.length > 0 && outcomes.every(({ outcome }) => outcome === 'passed');
  }

  #withoutBug(sandbox: Sandbox, tests: Tests): Promise<TestResult[]> {
    const known = this.#cleanRuns.find((run) => isDeepStrictEqual(run.tests, tests));
    if (known !== undefined) return known.results;
    const results = sandbox.test(tests.file, { titles: tests.titles });
    this.#cleanRuns.push({ tests, results });
    return results;
  }
}

function testsOf({ drill }: Bug, files: readonly string[]): Tests[] {
  const chosen = drill === undefined ? files : [`drills/${drill}/${drill}.drill.ts`];
  return chosen.map((file) => ({ file, titles: [] }));
}

/** A file that cannot be loaded, or whose process ends early, has failed under its own name. */
function isThrown({ title, outcome, failureType, reason }: TestResult, file: string): boolean {
  const isTest = outcome === 'failed' && title !== file;
  return isTest && failureType === THROWN && !NOT_LOADED.test(reason);
}
