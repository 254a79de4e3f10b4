// Each request of harness/malformed-requests.ts gets exactly the Error that is recorded below its name in malformed.txt,
// whether the client leaves the connection open or closes its half.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { malformedRequests } from '../../harness/malformed-requests.ts';
import { exchange, headersOf, parseResponses, type RawResponse } from '../../harness/raw-socket.ts';
import { sqliteStorage, startTestService, type TestService } from '../../harness/test-service.ts';
import { Recording } from './recording.ts';
import { REQUEST_ID, responseLines } from './response-lines.ts';

const recording = new Recording(
  new URL('malformed.txt', import.meta.url),
  (line) => !line.startsWith('  '),
);
const bytesOf = new Map(malformedRequests.map(([why, bytes]) => [why, bytes]));

let service: TestService;
before(async () => {
  service = await startTestService(sqliteStorage, { newRequestId: () => REQUEST_ID });
});
after(() => service.close());

async function errorFor(why: string, end: boolean): Promise<string[]> {
  const bytes = bytesOf.get(why);
  assert.ok(bytes !== undefined, `harness/malformed-requests.ts has no "${why}"`);
  const sent =
    typeof bytes === 'string'
      ? Buffer.from(bytes.replaceAll('{KEY}', service.key), 'latin1')
      : bytes;
  const port = Number(new URL(service.baseUrl).port);
  const received = await exchange(port, [sent], { end });
  return parseResponses(received).flatMap(linesOf);
}

function linesOf({ status, head, body }: RawResponse): string[] {
  return responseLines(status, headersOf(head), body).map((line) => `  ${line}`);
}

for (const block of recording.blocks) {
  test(block.title, async () => {
    const found: string[] = [];
    for (const why of recording.sentIn(block)) {
      const error = await errorFor(why, false);
      found.push(why, ...error);
      assert.deepEqual(await errorFor(why, true), error, `${why}, half-closed`);
    }
    recording.check(block, found);
  });
}

test('each malformed request is recorded once', () => {
  const recorded = recording.blocks.flatMap((block) => recording.sentIn(block));
  assert.deepEqual(
    recorded.toSorted(),
    malformedRequests.map(([why]) => why).toSorted(),
    'Add the name of the request to malformed.txt, and record its Error with UPDATE=1.',
  );
});
