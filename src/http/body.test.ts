import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Body, CUT_SHORT } from './body.ts';

test('a body that is cut short before it is read is refused, and is not waited for', async () => {
  const body = new Body(undefined, () => undefined);
  body.receive(Buffer.from('{'));
  body.fail(CUT_SHORT);
  await assert.rejects(body.read(), { code: 'malformed_request' });
});
