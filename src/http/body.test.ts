import assert from 'node:assert/strict';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { readBody } from './body.ts';

test('a request that is aborted before its body is read is refused, and is not waited for', async () => {
  const request = new IncomingMessage(new Socket());
  request.destroy();
  const reading = readBody(request, new ServerResponse(request), {
    bytesMax: 100,
    expectsContinue: false,
  });
  await assert.rejects(reading, { code: 'malformed_request' });
});
