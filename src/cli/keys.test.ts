import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { runHere } from '../../harness/command.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { newApiKey, newSecret } from '../domain/api-key.ts';
import { openSqliteStore } from '../storage/sqlite/store.ts';

const SECOND_MS = 1_000;
const HOUR_MS = 3_600 * SECOND_MS;
const DAY_MS = 24 * HOUR_MS;

interface KeyJson {
  key: string;
  id: string;
  name: string;
  scopes: string[];
  state: string;
  createdAt: string;
  expiresAt: string | null;
  firstKeyId: string;
}

/** The commands for the keys of a new store. */
function newKeys(t: TestContext) {
  const data = temporaryFolder(t);
  const place = join(data, 'production', 'petstore.sqlite');
  const run = (...args: string[]) => runHere(['keys', ...args, '--data', data]);
  const json = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(...args, '--json');
    assert.equal(code, 0, stderr);
    const lines = stdout.trim().split('\n');
    return lines.map((line) => JSON.parse(line) as KeyJson);
  };
  return {
    place,
    run,
    json,
    create: async (...args: string[]) => {
      const [made] = await json('create', '--create', ...args);
      return made ?? assert.fail();
    },
    /** A key that was created at that time, and expires then if it does. */
    async keyOf(now: Date, expiresAt?: Date): Promise<string> {
      const store = openSqliteStore(place);
      const secret = newSecret('production', randomBytes);
      const key = newApiKey({ secret, name: 'shop', now, expiresAt, randomBytes });
      await store.createApiKey(key);
      await store.close();
      return key.id;
    },
  };
}

test('a key expires after its duration, which is at most 3650 days', async (t) => {
  const keys = newKeys(t);
  for (const [text, durationMs] of [
    ['3650d', 3_650 * DAY_MS],
    ['24h', DAY_MS],
    ['30m', HOUR_MS / 2],
    ['45s', 45 * SECOND_MS],
  ] as const) {
    const { createdAt, expiresAt } = await keys.create('--name', 'shop', '--expires', text);
    assert.equal(Date.parse(expiresAt ?? '') - Date.parse(createdAt), durationMs, text);
  }
  assert.equal((await keys.create('--name', 'shop')).expiresAt, null);
  for (const wrong of ['3651d', '90days', 'in 90d', '90', 'd', '-1d', '1.5h', '']) {
    const { code, stderr } = await keys.run('create', '--name', 'shop', '--expires', wrong);
    assert.equal(code, 2, wrong);
    assert.match(stderr, /^petstore: --expires is ".*": it must be a duration such as 90d, /);
  }
});

test('a key has the scopes that were named, in whatever order, and an unknown one is refused', async (t) => {
  const keys = newKeys(t);
  for (const [text, scopes] of [
    ['pets:write', ['pets:write']],
    ['pets:write, pets:read', ['pets:read', 'pets:write']],
    ['read', ['pets:read']],
    ['write,pets:read', ['pets:read', 'pets:write']],
  ] as const) {
    const made = await keys.create('--name', 'shop', '--scopes', text);
    assert.deepEqual(made.scopes, scopes);
  }
  for (const wrong of ['pets:eat', 'pets:read,eat', 'pets:read,', 'pets:pets:read', '']) {
    const { code, stderr } = await keys.run('create', '--name', 'shop', '--scopes', wrong);
    assert.equal(code, 2, wrong);
    assert.match(
      stderr,
      /: it must be one or more of pets:read, pets:write, pets:manage \(or read, write, manage\)\.\n$/,
    );
  }
});

test('the name of a key has 1 to 100 characters', async (t) => {
  const keys = newKeys(t);
  const longest = 'x'.repeat(100);
  assert.equal((await keys.create('--name', longest)).name, longest);
  for (const wrong of ['', `${longest}x`]) {
    const { code, stderr } = await keys.run('create', '--name', wrong);
    assert.equal(code, 2);
    assert.match(stderr, /^petstore: --name is "x*": it must be 1 to 100 characters\.\n$/);
  }
});

test('every command on keys says what it did, and where', async (t) => {
  const keys = newKeys(t);
  const made = await keys.run('create', '--name', 'shop\u001b', '--create');
  const [, id = ''] = /^Created (key_\w+) /.exec(made.stderr) ?? [];
  const name = String.raw`shop\u001b`;
  assert.equal(
    made.stderr,
    `Created ${id} (${name}) for production in ${keys.place}; the key is shown only once:\n`,
  );
  assert.equal((await keys.run('list')).stderr, `1 key in ${keys.place}.\n`);

  const rotated = await keys.run('rotate', id);
  assert.match(rotated.stdout, /^pet_live_\w{36}\n$/);
  const listed = await keys.json('list');
  const [first, second] = listed;
  assert.deepEqual(
    listed.map((key) => [key.name, key.state]),
    [
      ['shop\u001b', 'active'],
      ['shop\u001b', 'active'],
    ],
  );
  assert.equal(
    rotated.stderr,
    `Created ${second?.id} in ${keys.place} instead of ${id}, which expires at ${first?.expiresAt}; the new key is shown only once:\n`,
  );
  assert.equal(
    Date.parse(first?.expiresAt ?? '') - Date.parse(second?.createdAt ?? ''),
    DAY_MS,
    'the overlap is a day by default',
  );
  assert.equal((await keys.run('list', '--json')).stderr, `2 keys in ${keys.place}.\n`);

  assert.deepEqual(await keys.run('revoke', id), {
    code: 0,
    stdout: '',
    stderr: `Revoked ${id} (${name}) in ${keys.place}; every process refuses it within 5 seconds.\n`,
  });
});

test('an ended key cannot be rotated, and the message says how it ended', async (t) => {
  const keys = newKeys(t);
  const expired = await keys.keyOf(new Date(0), new Date(1));
  const revoked = await keys.keyOf(new Date(0));
  assert.equal((await keys.run('revoke', revoked)).code, 0);
  for (const [id, state] of [
    [expired, 'expired'],
    [revoked, 'revoked'],
  ] as const) {
    assert.deepEqual(await keys.run('rotate', id), {
      code: 2,
      stdout: '',
      stderr: `petstore: ${id} is ${state} and cannot be rotated; create a new key instead.\n`,
    });
  }
});

test('a rotated key ends after the overlap, also if a clock that is ahead has created it', async (t) => {
  const keys = newKeys(t);
  const now = Date.now();
  for (const createdMs of [now - 30 * DAY_MS, now + DAY_MS]) {
    const id = await keys.keyOf(new Date(createdMs));
    const [successor] = await keys.json('rotate', id, '--overlap', '1h');
    const old = (await keys.json('list')).find((key) => key.id === id);
    const successorMs = Date.parse(successor?.createdAt ?? '');
    assert.ok(
      successorMs >= now && successorMs > createdMs,
      `the successor is of ${successor?.createdAt}`,
    );
    assert.equal(Date.parse(old?.expiresAt ?? '') - successorMs, HOUR_MS);
  }
});

test('a key that was rotated several times still belongs to the first one, with its claims', async (t) => {
  const keys = newKeys(t);
  const first = await keys.create('--name', 'shop');
  assert.equal(first.firstKeyId, first.id);
  let { id } = first;
  for (let time = 0; time < 3; time += 1) {
    const [successor] = await keys.json('rotate', id);
    assert.notEqual(successor?.id, id);
    assert.equal(successor?.firstKeyId, first.id);
    id = successor.id;
  }
});
