// What a person sees of a run: a dot for each file, each failure in full, what was skipped, and the counts.

import type { EventData, run } from 'node:test';
import { spec } from 'node:test/reporters';
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
  let summary: EventData.TestSummary | undefined;
  stream.on('test:pass', ({ skip }) => {
    if (skip === undefined || skip === false) return;
    const reason = skip === true ? 'no reason was given' : skip;
    skipped.set(reason, (skipped.get(reason) ?? 0) + 1);
  });
  stream.on('test:summary', (data) => {
    if (data.file === undefined) summary = data;
  });
  if (isVerbose) await pipeline(stream, new spec(), output, { end: false });
  else await pipeline(stream, onlyFailures, new spec(), output, { end: false });
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

  async function* onlyFailures(events: TestsStream) {
    // What each file has written is shown if it ends without a result.
    const written = new Map<string, string>();
    for await (const event of events) {
      if (event.type === 'test:stderr' || event.type === 'test:diagnostic') {
        const { file = '', message } = event.data;
        written.set(file, `${written.get(file) ?? ''}${message.trimEnd()}\n`);
      } else if (event.type === 'test:complete') {
        if (event.data.name === event.data.file) output.write('.');
      } else if (event.type === 'test:fail') {
        const { name, file = '' } = event.data;
        const message = written.get(file);
        if (name === file && message !== undefined) {
          yield { type: 'test:stderr', data: { file, message } };
        }
        yield event;
      }
    }
    output.write('\n');
  }
}
