// What a person sees of a run: a report of node:test, why files ended, what was skipped, and the counts.

import type { EventData, run } from 'node:test';
import { dot, spec } from 'node:test/reporters';
import { pipeline } from 'node:stream/promises';
import type { Output } from '../src/cli/command.ts';

type TestsStream = ReturnType<typeof run>;

/** Returns whether all tests passed. With `isVerbose` each test is shown. */
export async function report(
  stream: TestsStream,
  output: Output & NodeJS.WritableStream,
  isVerbose: boolean,
): Promise<boolean> {
  const skipped = new Map<string, number>();
  // A file that ends without a result has written why.
  const written = new Map<string, string>();
  let ends = '';
  let summary: EventData.TestSummary | undefined;
  stream.on('test:pass', ({ skip = false }) => {
    const reason = skip === true ? 'no reason was given' : skip;
    if (reason !== false) skipped.set(reason, (skipped.get(reason) ?? 0) + 1);
  });
  const keep = ({ file = '', message }: { file?: string; message: string }) =>
    void written.set(file, `${written.get(file) ?? ''}${message.trimEnd()}\n`);
  stream.on('test:stderr', keep).on('test:diagnostic', keep);
  stream.on('test:fail', ({ name, file = '' }) => {
    if (name === file) ends += written.get(file) ?? '';
  });
  stream.on('test:summary', (data) => {
    if (data.file === undefined) summary = data;
  });
  await pipeline(stream, isVerbose ? new spec() : dot, output, { end: false });
  output.write(ends);
  const reasons = [...skipped].toSorted(([, one], [, other]) => other - one);
  for (const [reason, count] of reasons) output.write(`Skipped ${count}: ${reason}\n`);
  if (summary === undefined) return false;
  const { tests, passed, cancelled, skipped: left, todo } = summary.counts;
  const failed = tests - passed - cancelled - left - todo;
  const seconds = Math.round(summary.duration_ms / 1_000);
  output.write(
    `${tests} tests: ${passed} passed, ${failed} failed, ${cancelled} cancelled, ${left} skipped, ${seconds} s\n`,
  );
  return summary.success;
}
