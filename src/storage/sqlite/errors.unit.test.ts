import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refusal } from '../../domain/errors.ts';
import { fileError, isCorrupt, isLocked, isTemporary, namedCause } from './errors.ts';

/** As node:sqlite throws it. The result code is in the lowest byte of `errcode`. */
const ofSqlite = (errcode: number) =>
  Object.assign(new Error(`result ${errcode}`), { code: 'ERR_SQLITE_ERROR', errcode });
const ofSystem = (code: string) => Object.assign(new Error(`${code}: failed`), { code });

const [LOCKED, CORRUPT, FULL] = ['locked', 'corrupt', 'full'];
const TEMPORARY = 'temporary';

const errors: [what: string, error: Error, kinds: (string | undefined)[]][] = [
  ['busy', ofSqlite(5), [LOCKED, TEMPORARY]],
  ['busy because of a snapshot', ofSqlite(517), [LOCKED, TEMPORARY]],
  ['locked', ofSqlite(6), [LOCKED, TEMPORARY]],
  ['a failing disk', ofSqlite(10), [TEMPORARY]],
  ['no space for the shared memory', ofSqlite(4874), [TEMPORARY, FULL]],
  ['malformed', ofSqlite(11), [CORRUPT]],
  ['not a database', ofSqlite(26), [CORRUPT]],
  ['no space for the database', ofSqlite(13), [TEMPORARY, FULL]],
  ['no space for a file', ofSystem('ENOSPC'), [TEMPORARY, FULL]],
  ['a rule of the schema', ofSqlite(19), []],
  ['no file', ofSystem('ENOENT'), []],
];

for (const [what, error, kinds] of errors) {
  test(`an error is told from others: ${what}`, () => {
    const cause = namedCause(error);
    const isFull = cause instanceof Error && cause.message === 'the disk is full';
    assert.equal(isFull ? cause.cause : cause, error);
    assert.deepEqual(
      [
        isLocked(error) && LOCKED,
        isCorrupt(error) && CORRUPT,
        isTemporary(error) && TEMPORARY,
        isFull && FULL,
      ].filter((kind) => kind !== false),
      kinds,
    );
  });
}

test('an error of SQLite or of a full disk is reported with the file, and any other as it is', () => {
  const reports: [error: Error, message: string][] = [
    [ofSqlite(11), 'a.sqlite is damaged: restore another backup.'],
    [ofSqlite(19), 'a.sqlite cannot be copied.'],
    [ofSqlite(13), 'a.sqlite cannot be copied.'],
    [ofSystem('ENOSPC'), 'a.sqlite cannot be copied.'],
  ];
  for (const [error, message] of reports) {
    const reported = fileError('a.sqlite', error, 'cannot be copied');
    assert.ok(reported instanceof Refusal && reported.code === 'unavailable');
    assert.equal(reported.message, message);
    assert.deepEqual(reported.cause, namedCause(error));
  }
  const missing = ofSystem('ENOENT');
  assert.equal(fileError('a.sqlite', missing), missing);
});
