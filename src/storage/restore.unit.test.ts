import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ApiKey } from '../domain/api-key.ts';
import { INT64_MAX } from '../domain/int64.ts';
import { lastIdAfterRestore, uniteKeys, whyPastUnknown, type Past } from './restore.ts';

const T0 = new Date('2026-06-01T00:00:00Z');
const after = (ms: number) => new Date(T0.getTime() + ms);
const HIGHEST = INT64_MAX - 2n ** 32n;

function past(id: string | undefined, lastId: bigint): Past {
  const identity =
    id === undefined ? undefined : ({ id, environment: 'production', createdAt: T0 } as const);
  return { identity, lastId, keys: [] };
}

function key(hash: string, ends: { expiresAt?: Date; revokedAt?: Date } = {}): ApiKey {
  return {
    id: `key_${hash}`,
    hash,
    name: hash,
    scopes: ['pets:read'],
    createdAt: T0,
    expiresAt: undefined,
    revokedAt: undefined,
    lastUsedAt: undefined,
    lastDeprecatedCallAt: undefined,
    firstKeyId: 'key_first',
    ...ends,
  };
}

describe('the id above which a restored store begins', () => {
  const backup = { ...past('A', 100n), madeAt: T0 };
  const unknown = { ...past(undefined, 100n), madeAt: undefined };
  const [SAME, OTHER] = [past('A', 250n), past('B', 250n)];
  const [EQUAL, OLDER] = [past('A', 100n), past('A', 99n)];
  const cases: [
    title: string,
    from: typeof backup | typeof unknown,
    former: Past | undefined,
    options: { idsAbove?: bigint; ms?: number },
    expected: bigint | RegExp,
  ][] = [
    ['the same store: above its last id', backup, SAME, {}, 250n],
    ['the same store with the same last id, which may be a copy', backup, EQUAL, {}, 10_000_100n],
    ['the same store, a clock that is behind', backup, SAME, { ms: -1 }, 250n],
    ['no former file, at once', backup, undefined, {}, 10_000_100n],
    ['no former file, after a second', backup, undefined, { ms: 1_000 }, 11_000_100n],
    ['no former file, after a day', backup, undefined, { ms: 86_400_000 }, 86_410_000_100n],
    ['another store', backup, OTHER, { ms: 1 }, 10_001_100n],
    ['another store that has gone further', backup, past('B', 10n ** 12n), {}, 10n ** 12n],
    ['an older copy of the same store', backup, OLDER, { ms: 1 }, 10_001_100n],
    [
      'two stores without an id are not the same',
      unknown,
      past(undefined, 250n),
      { ms: 1 },
      13_046_410_001_100n,
    ],
    ['a backup without a time counts from 2026-01-01', unknown, undefined, {}, 13_046_410_000_100n],
    [
      'a backup from the future',
      backup,
      undefined,
      { ms: -1 },
      /future.*--ids-above must name an id from 100 to/,
    ],
    ['a backup from the future, with an id', backup, undefined, { ms: -1, idsAbove: 100n }, 100n],
    ['the option overrides an unknown past', backup, undefined, { idsAbove: 500n }, 500n],
    ['the option overrides the former file', backup, SAME, { idsAbove: 10n ** 9n }, 10n ** 9n],
    [
      'the option below the backup',
      backup,
      undefined,
      { idsAbove: 99n },
      /above 99: --ids-above must name an id from 100 to/,
    ],
    [
      'the option below the former file',
      backup,
      SAME,
      { idsAbove: 249n },
      /above 249: --ids-above must name an id from 250 to/,
    ],
    ['the option below another store', backup, OTHER, { idsAbove: 249n }, /from 250 to/],
    ['2^32 ids are left', backup, undefined, { idsAbove: HIGHEST }, HIGHEST],
    [
      'fewer than 2^32 ids are left',
      backup,
      undefined,
      { idsAbove: HIGHEST + 1n },
      /to 9223372032559808511\./,
    ],
    [
      'fewer would be left after the skipped ones',
      { ...backup, lastId: HIGHEST },
      undefined,
      {},
      /cannot begin above/,
    ],
  ];
  for (const [title, from, former, { idsAbove, ms = 0 }, expected] of cases) {
    test(`${title}: ${typeof expected === 'bigint' ? expected : 'refused'}`, () => {
      const options = { idsAbove, now: after(ms) };
      if (typeof expected === 'bigint') {
        assert.equal(lastIdAfterRestore(from, former, options), expected);
      } else {
        assert.throws(() => lastIdAfterRestore(from, former, options), expected);
      }
    });
  }

  test('a second restore of the same backup begins above all ids that the first can have led to', () => {
    for (const [first, second] of [
      [0, 1],
      [0, 9_999],
      [5_000, 5_001],
      [10_000, 60_000],
    ] as const) {
      const [begin, again] = [first, second].map((ms) =>
        lastIdAfterRestore(backup, undefined, { now: after(ms) }),
      );
      assert.ok((again ?? 0n) - (begin ?? 0n) >= BigInt(second - first) * 1_000n);
    }
  });

  test('the reason for an unknown past is named', () => {
    assert.equal(whyPastUnknown(backup, SAME), undefined);
    assert.match(whyPastUnknown(backup, undefined) ?? '', /no intact former file/);
    assert.match(whyPastUnknown(backup, OTHER) ?? '', /same store/);
    for (const copy of [EQUAL, OLDER]) {
      assert.match(whyPastUnknown(backup, copy) ?? '', /not newer than the backup/);
    }
  });
});

describe('the keys of a backup and of the former file', () => {
  const [early, late] = [after(1), after(2)];
  const cases: [title: string, backup: ApiKey[], former: ApiKey[], expected: ApiKey[]][] = [
    ['both are kept', [key('a')], [key('b')], [key('a'), key('b')]],
    ['without a former file', [key('a')], [], [key('a')]],
    [
      'revoked after the backup',
      [key('a')],
      [key('a', { revokedAt: late })],
      [key('a', { revokedAt: late })],
    ],
    [
      'revoked in the backup only',
      [key('a', { revokedAt: late })],
      [key('a')],
      [key('a', { revokedAt: late })],
    ],
    [
      'rotated after the backup',
      [key('a')],
      [key('a', { expiresAt: late })],
      [key('a', { expiresAt: late })],
    ],
    [
      'the earlier end is in the former file',
      [key('a', { expiresAt: late })],
      [key('a', { expiresAt: early })],
      [key('a', { expiresAt: early })],
    ],
    [
      'the earlier end is in the backup',
      [key('a', { expiresAt: early })],
      [key('a', { expiresAt: late })],
      [key('a', { expiresAt: early })],
    ],
    [
      'the same key with two ids is one key',
      [key('a')],
      [{ ...key('a', { revokedAt: early }), id: 'key_other' }],
      [key('a', { revokedAt: early })],
    ],
  ];
  for (const [title, backup, former, expected] of cases) {
    test(title, () => assert.deepEqual(uniteKeys(backup, former), expected));
  }
});
