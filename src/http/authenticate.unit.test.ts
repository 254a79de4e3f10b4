import assert from 'node:assert/strict';
import crypto, { randomBytes } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { test, type TestContext } from 'node:test';
import { newApiKey, newSecret } from '../domain/api-key.ts';
import { createAuthenticate } from './authenticate.ts';

const FORGED = 2_000;

const KNOWN_HEADERS_MAX = 1_000;

/** The check of one known key, and how often it has hashed a key. */
function openHere(t: TestContext) {
  const secret = newSecret('production', randomBytes);
  const key = newApiKey({ secret, name: 'shop', now: new Date(0), randomBytes });
  const hashing = t.mock.method(crypto, 'hash');
  syncBuiltinESMExports();
  t.after(() => {
    hashing.mock.restore();
    syncBuiltinESMExports();
  });
  const check = createAuthenticate({
    environment: 'production',
    keys: { find: async (hash) => (hash === key.hash ? key : undefined) },
    clock: { now: () => new Date(0), elapsedMs: () => 0 },
  });
  const authenticate = (authorization: string) => check({ headers: { authorization } });
  return { secret, key, check, authenticate, hashing };
}

test('the header of a known key is hashed once, however many invented keys are sent meanwhile', async (t) => {
  const { secret, key, authenticate, hashing } = openHere(t);
  assert.equal(await authenticate(`Bearer ${secret}`), key);
  for (let sent = 0; sent < FORGED; sent += 1) {
    const forged = newSecret('production', randomBytes);
    await assert.rejects(authenticate(`Bearer ${forged}`), { code: 'invalid_api_key' });
  }
  const before = hashing.mock.callCount();
  assert.ok(before > FORGED);
  assert.equal(await authenticate(`Bearer ${secret}`), key);
  assert.equal(hashing.mock.callCount(), before);
});

test('1,000 headers of known keys are remembered, and one more makes them forgotten', async (t) => {
  const { secret, authenticate, hashing } = openHere(t);
  // The number of spaces is free, so that one key has many headers.
  const send = (spaces: number) => authenticate(`Bearer ${' '.repeat(spaces)}${secret}`);
  const sendAll = async () => {
    for (let spaces = 0; spaces < KNOWN_HEADERS_MAX; spaces += 1) await send(spaces);
    return hashing.mock.callCount();
  };
  const before = hashing.mock.callCount() + KNOWN_HEADERS_MAX;
  assert.equal(await sendAll(), before);
  assert.equal(await sendAll(), before);
  await send(KNOWN_HEADERS_MAX);
  assert.equal(hashing.mock.callCount(), before + 1);
  await send(0);
  assert.equal(hashing.mock.callCount(), before + 2);
});

test('a header of another scheme has no key, whatever follows the name of the scheme', async (t) => {
  const { secret, authenticate } = openHere(t);
  await assert.rejects(authenticate(`Token bearer ${secret}`), { code: 'missing_api_key' });
});

test('a key of the other environment is refused by a message that names both', async (t) => {
  const { authenticate } = openHere(t);
  const staging = newSecret('staging', randomBytes);
  await assert.rejects(authenticate(`Bearer ${staging}`), {
    code: 'invalid_api_key',
    message: 'This key is for staging: use one for production.',
  });
});

test('a key in the wrong place is missing, and the message names the right one and nothing of the request', async (t) => {
  const { secret, check } = openHere(t);
  const how = 'Send it as "Authorization: Bearer <API_KEY>".';
  for (const headers of [
    {},
    { 'x-api-key': secret },
    { authorization: `Basic ${btoa(`${secret}:`)}` },
    { authorization: `Token ${secret}` },
    { authorization: secret },
  ]) {
    const message = `An API key is required. ${how}`;
    await assert.rejects(check({ headers }), { code: 'missing_api_key', message });
  }
  for (const authorization of ['Bearer', `Bearer "${secret}"`, `Bearer ${secret} ${secret}`]) {
    const message = `One key must follow the word Bearer. ${how}`;
    await assert.rejects(check({ headers: { authorization } }), {
      code: 'invalid_api_key',
      message,
    });
  }
});
