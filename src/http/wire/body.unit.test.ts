import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Refusal } from '../../domain/errors.ts';
import { Body, CUT_SHORT } from './body.ts';

const BYTES_MAX = 64 * 1024;

function newBody(contentLength?: string) {
  const seen = { changes: 0 };
  const body = new Body(contentLength, () => (seen.changes += 1));
  return { body, seen };
}

const refusalOf = (body: Body) =>
  body.read().then(
    () => undefined,
    ({ code, message }: Refusal) => ({ code, message }),
  );

test('a body that is cut short before it is read is refused, and is not waited for', async () => {
  const { body } = newBody();
  body.receive(Buffer.from('{'));
  body.fail(CUT_SHORT);
  await assert.rejects(body.read(), { code: 'malformed_request' });
});

test('a body that is cut short while it is read is refused, and what follows is ignored', async () => {
  const { body, seen } = newBody();
  const read = body.read();
  body.receive(Buffer.from('{'));
  body.fail(CUT_SHORT);
  const { changes } = seen;
  body.receive(Buffer.from('}'));
  body.receive(null);
  assert.deepEqual([body.occupiedBytes, body.wantsMore, seen.changes], [0, false, changes]);
  await assert.rejects(read, { code: 'malformed_request' });
});

test('a body is all its chunks in their order, whether it is read before or after they arrive', async () => {
  const chunks = [10, 0, 10, 20, 1, 3_000, 5, 40_000, 7].map((length, index) =>
    Buffer.alloc(length, `${index}`),
  );
  for (const isReadFirst of [true, false]) {
    const { body, seen } = newBody();
    const early = isReadFirst ? body.read() : undefined;
    for (const chunk of [...chunks, null]) {
      const { changes } = seen;
      body.receive(chunk);
      assert.equal(seen.changes, changes + 1);
    }
    assert.deepEqual(await (early ?? body.read()), Buffer.concat(chunks));
  }
});

test('the memory of an unfinished body doubles when it is full, up to 64 KiB, and is free at its end', () => {
  const { body } = newBody();
  const receive = (length: number) => {
    body.receive(Buffer.alloc(length));
    return body.occupiedBytes;
  };
  assert.equal(body.occupiedBytes, 0);
  assert.deepEqual([10, 10, 20, 1, 40_000].map(receive), [10, 40, 40, 82, BYTES_MAX]);
  body.receive(null);
  assert.equal(body.occupiedBytes, 0);
  assert.equal(body.wantsMore, false);
});

test('a body of 64 KiB is accepted; one byte more is refused, also if it is only announced', async () => {
  for (const [length, isAccepted] of [
    [BYTES_MAX, true],
    [BYTES_MAX + 1, false],
  ] as const) {
    const announced = newBody(String(length)).body;
    assert.equal(announced.wantsMore, isAccepted);
    const { body, seen } = newBody();
    body.receive(Buffer.alloc(length));
    assert.equal(seen.changes, 1);
    if (isAccepted) body.receive(null);
    const read = isAccepted ? body.read() : announced.read();
    if (isAccepted) assert.equal((await read).length, length);
    else await assert.rejects(read, { code: 'body_too_large' });
    if (!isAccepted) await assert.rejects(body.read(), { code: 'body_too_large' });
  }
});

test('a body may have another limit, which its buffer does not exceed', async () => {
  const body = new Body(undefined, () => undefined, 100_000);
  assert.deepEqual(await refusalOf(new Body('100001', () => undefined, 100_000)), {
    code: 'body_too_large',
    message: 'The body is over 100000 bytes, or in over 4096 chunks.',
  });
  for (const length of [60_000, 39_999, 1]) body.receive(Buffer.alloc(length, 'x'));
  assert.equal(body.occupiedBytes, 100_000);
  body.receive(null);
  assert.equal((await body.read()).toString(), 'x'.repeat(100_000));
});

test('until it is read, only the first chunk of a body is to be received', () => {
  const { body, seen } = newBody();
  assert.equal(body.wantsMore, true);
  body.receive(Buffer.from('{'));
  assert.equal(body.wantsMore, true);
  body.receive(Buffer.from('"'));
  assert.equal(body.wantsMore, false);
  const { changes } = seen;
  void body.read();
  assert.deepEqual([body.wantsMore, seen.changes], [true, changes + 1]);
});
