// Runs test files, and writes a line of JSON for each test that has ended. Its argument has the options of `run` as JSON.

import { run } from 'node:test';

/** One test of a file, or a suite of tests. A file that cannot be loaded is a test with its name. */
export interface TestResult {
  title: string;
  isSuite: boolean;
  outcome: 'passed' | 'failed' | 'skipped';
  /** Why it was skipped, or the first line of its error. */
  reason: string;
  /** Where it is. */
  path: string;
  /** How it has failed, in a word of Node.js, such as `testCodeFailure`. */
  failureType: string;
}

const options = JSON.parse(process.argv[2] ?? '{}') as Parameters<typeof run>[0];
const stream = run(options);
const write = (result: TestResult) => process.stdout.write(`${JSON.stringify(result)}\n`);
stream.on('test:pass', ({ name, file = '', skip, details }) => {
  const isSkipped = skip !== undefined && skip !== false;
  const result = { title: name, isSuite: details.type === 'suite', path: file, failureType: '' };
  write({ ...result, outcome: isSkipped ? 'skipped' : 'passed', reason: String(skip ?? '') });
});
stream.on('test:fail', ({ name, file = '', details }) => {
  const { cause = details.error, failureType = '' } = details.error as Error & {
    failureType?: string;
  };
  const { code = '' } = cause as { code?: string };
  const reason = `${String(cause).split('\n')[0]} ${code}`.trim();
  const isSuite = details.type === 'suite';
  write({ title: name, isSuite, outcome: 'failed', reason, path: file, failureType });
});
await stream.resume().toArray();
