// What a person sees of a test run: one line of progress, and at the end what was skipped, one line per reason, then
// what failed, with file and line, and the counts. It fits on one screen, also with three failures.

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { EventData, run } from 'node:test';
import type { Output } from '../src/cli/command.ts';
import { Progress } from '../src/cli/terminal.ts';

type TestsStream = ReturnType<typeof run>;

const SCREEN_LINES = 24;
/** What npm writes above: the name of the script and its command. */
const NPM_LINES = 4;
/** At least this many lines tell what was skipped, however much has failed. */
const SKIP_LINES_MIN = 3;
const MESSAGE_LINES_MAX = 2;
const LINE_WIDTH = 120;
const INDENT = '  ';
const REDRAW_MS = 500;
/** Elsewhere than on a terminal, each progress line remains, so they are rare. */
const LINE_MS = 120_000;
/** What a file writes is kept for the case that it ends without a result. */
const KEPT_CHARACTERS_MAX = 20_000;

/** Failures that only repeat those of other tests. */
const REPEATS = ['subtestsFailed', 'cancelledByParent'];

interface Failure {
  title: string;
  file: string;
  line: number;
  error: TestError;
  isRepeat: boolean;
}

/** What the test runner adds to an error. */
interface TestError extends Error {
  failureType?: string;
  cause?: unknown;
}

export class LastScreen {
  readonly #output: Output;
  readonly #root: string;
  readonly #fileCount: number;
  readonly #isVerbose: boolean;
  readonly #skipped = new Map<string, number>();
  readonly #failures: Failure[] = [];
  readonly #printed = new Map<string, string>();
  #counts = '';

  /** If every test is shown above, there is no progress, and no limit of lines for what was skipped. */
  constructor(output: Output, options: { root: string; fileCount: number; isVerbose: boolean }) {
    this.#output = output;
    this.#root = options.root;
    this.#fileCount = options.fileCount;
    this.#isVerbose = options.isVerbose;
  }

  /** Resolves when all tests have ended. */
  async follow(stream: TestsStream): Promise<void> {
    const titles: string[] = [];
    stream.on('test:start', ({ name, nesting }) => {
      titles.splice(nesting, Infinity, name);
    });
    stream.on('test:fail', (data) => this.#fail(data, titles.slice(0, data.nesting)));
    stream.on('test:pass', ({ skip }) => {
      if (skip === undefined || skip === false) return;
      const reason = skip === true ? 'no reason was given' : skip;
      this.#skipped.set(reason, (this.#skipped.get(reason) ?? 0) + 1);
    });
    const keep = ({ file = '', message }: { file?: string; message: string }) => {
      const key = this.#shortPath(file);
      const text = `${this.#printed.get(key) ?? ''}${message}\n`;
      this.#printed.set(key, text.slice(-KEPT_CHARACTERS_MAX));
    };
    stream.on('test:stderr', keep);
    stream.on('test:diagnostic', keep);
    stream.on('test:summary', ({ file, counts, duration_ms }) => {
      if (file !== undefined) return;
      const { tests, passed, cancelled, skipped, todo } = counts;
      const failed = tests - passed - cancelled - skipped - todo;
      const seconds = Math.round(duration_ms / 1_000);
      this.#counts = `${tests} tests: ${passed} passed, ${failed} failed, ${cancelled} cancelled, ${skipped} skipped, ${seconds} s`;
    });
    const stopProgress = this.#isVerbose ? () => undefined : this.#showProgress(stream);
    await once(stream, 'end');
    stopProgress();
  }

  #showProgress(stream: TestsStream): () => void {
    const line = new Progress(this.#output);
    let [files, tests, failed] = [0, 0, 0];
    stream.on('test:complete', ({ name, file, nesting, details }) => {
      if (nesting === 0 && name === file) files += 1;
      else if (details.type !== 'suite') tests += 1;
      if (!details.passed && !isRepeat(details.error)) failed += 1;
    });
    const show = () =>
      line.show(`${files} of ${this.#fileCount} files, ${tests} tests, ${failed} failed`);
    const timer = setInterval(show, this.#output.isTTY === true ? REDRAW_MS : LINE_MS);
    return () => {
      clearInterval(timer);
      line.clear();
    };
  }

  #fail({ name, file = '', line = 1, details, todo }: EventData.TestFail, above: string[]): void {
    if (todo !== undefined && todo !== false) return;
    this.#failures.push({
      title: [...above, name].map((each) => this.#shortPath(each)).join(' › '),
      file: this.#shortPath(file),
      line,
      error: details.error,
      isRepeat: isRepeat(details.error),
    });
  }

  get isFailed(): boolean {
    return this.#failures.length > 0;
  }

  show(): void {
    // A repetition is shown only where nothing else explains it.
    const explained = new Set(
      this.#failures.filter((each) => !each.isRepeat).map(({ file }) => file),
    );
    const failures = this.#failures
      .filter((each) => !each.isRepeat || !explained.has(each.file))
      .flatMap((each) => this.#linesOf(each));
    const after = [...failures, this.#counts];
    const width = this.#output.columns ?? LINE_WIDTH;
    const lines = [...this.#skipLines(SCREEN_LINES - NPM_LINES - after.length), ...after];
    const cut = (line: string) => (line.length > width ? `${line.slice(0, width - 1)}…` : line);
    this.#output.write(lines.map((line) => `${cut(line)}\n`).join(''));
  }

  #skipLines(room: number): string[] {
    const lines = [...this.#skipped]
      .toSorted(([, one], [, other]) => other - one)
      .map(([reason, count]) => `Skipped ${count}: ${reason}`);
    const shown = this.#isVerbose ? Infinity : Math.max(SKIP_LINES_MIN, room);
    if (lines.length <= shown) return lines;
    const more = `Skipped for ${lines.length - shown + 1} more reasons: --verbose lists them.`;
    return [...lines.slice(0, shown - 1), more];
  }

  #linesOf(failure: Failure): string[] {
    const { title, file, error } = failure;
    const cause = error.cause instanceof Error ? error.cause : error;
    // A file that ended early has no error, but what it wrote.
    const isCrash = title === file && error.message === 'test failed';
    const { file: at, line } = isCrash ? failure : this.#placeOf(failure, cause);
    const source = isCrash ? '' : this.#sourceLine(at, line);
    const text = isCrash ? whatEnded(this.#printed.get(file) ?? '') : cause.message;
    const width = (this.#output.columns ?? LINE_WIDTH) - INDENT.length;
    const message = linesOfMessage(text.replaceAll(`${this.#root}/`, ''))
      .flatMap((each) => wrapText(each, width))
      .slice(0, MESSAGE_LINES_MAX);
    const place = `${at}:${line}  ${source}`.trimEnd();
    return [`✖ ${title}`, ...[place, ...message].map((each) => `${INDENT}${each}`)];
  }

  /** The place in a test that the error has passed, or else where the error or the test comes from. */
  #placeOf({ file, line }: Failure, { stack = '' }: Error): { file: string; line: number } {
    const places = [...stack.matchAll(/(?:file:\/\/)?(\/[^\s()]+):(\d+):\d+\)?$/gm)]
      .map(([, path = '', at]) => ({ file: this.#shortPath(path), line: Number(at) }))
      .filter((each) => !each.file.startsWith('/') && !each.file.startsWith('node_modules/'));
    const test = [...places, { file, line }].find((each) => isTestFile(each.file));
    return test ?? places[0] ?? { file, line };
  }

  /** `assert.ok(age < 60, String(age))` says only the age; its line says what was expected. */
  #sourceLine(file: string, line: number): string {
    try {
      const text = readFileSync(join(this.#root, file), 'utf8');
      return text.split('\n')[line - 1]?.trim() ?? '';
    } catch {
      return '';
    }
  }

  #shortPath(path: string): string {
    return path.startsWith(this.#root) ? relative(this.#root, path) : path;
  }
}

function isRepeat(error: TestError | undefined): boolean {
  return REPEATS.includes(error?.failureType ?? '');
}

function isTestFile(file: string): boolean {
  return /\.(?:test|contract)\.ts$/.test(file) || file.startsWith('test/');
}

/** Of what a process wrote before it ended early: from the line that names the error. */
function whatEnded(printed: string): string {
  const at = printed.search(/^\w*Error\b/m);
  return (at === -1 ? printed : printed.slice(at)).replaceAll(/^ +at .*$/gm, '');
}

/** The lines of a message; of a difference only the first that differ. */
function linesOfMessage(message: string): string[] {
  const lines = message.split('\n').filter((line) => line.trim() !== '');
  const legend = lines.findIndex((line) => line.startsWith('+ actual - expected'));
  if (legend === -1) return lines;
  const first = (sign: string, name: string) => {
    const line = lines.slice(legend + 1).find((each) => each.startsWith(sign));
    return line === undefined ? [] : [`${name}: ${line.slice(1).trim()}`];
  };
  return [...first('+', 'actual'), ...first('-', 'expected')];
}

/** Breaks a text between words into lines of at most `width`; a longer word is broken too. */
function wrapText(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (longer.length > width && line !== '') {
      lines.push(line);
      line = word;
    } else line = longer;
    for (; line.length > width; line = line.slice(width)) lines.push(line.slice(0, width));
  }
  return [...lines, line];
}
