import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readJsonBody } from './json-body.ts';

function readAs(headers: Record<string, string>, body = '{}'): Promise<unknown> {
  const readBody = async () => Buffer.from(body);
  return readJsonBody({ method: 'POST', target: '/v1/pets', headers, readBody });
}

test('a body is read if its type is JSON in UTF-8 without an encoding', async () => {
  for (const type of [
    'application/json',
    'Application/JSON ; Charset="UTF8"',
    'application/json;version=1; charset= utf-8 ',
  ]) {
    assert.deepEqual(await readAs({ 'content-type': type, 'content-encoding': 'Identity' }), {});
  }
  for (const type of [
    'x-application/json',
    'application/jsonp',
    'application/json; charset=latin1; version=1',
    'application/json; version=1; charset=xutf-8',
    'application/json; charset=utf-16',
    'application/json; Charset=latin1',
    'application/json; charset',
  ]) {
    const refused = { code: 'unsupported_media_type', message: /^The body must be application/ };
    await assert.rejects(readAs({ 'content-type': type }), refused, type);
  }
  await assert.rejects(readAs({ 'content-encoding': 'gzip' }), { code: 'unsupported_media_type' });
});

test('the message repeats at most 60 characters of a media type, and helps a user of curl', async () => {
  const form = 'application/x-www-form-urlencoded';
  await assert.rejects(readAs({ 'content-type': `${form}; ${'x'.repeat(9_000)}` }), {
    message: `The body must be application/json in UTF-8, not ${form}; ${'x'.repeat(25)}; with curl, add -H 'Content-Type: application/json'.`,
  });
});
