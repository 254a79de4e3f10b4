// What administrators run on the file of a store while it serves, with programs of their own.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { commandsBelow, petstoreFolder } from '../../harness/documented-commands.ts';
import { Load } from '../../harness/load.ts';
import { findProgram, needs, needsProgram } from '../../harness/needs.ts';
import { ServiceProcess } from '../../harness/service-process.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { until } from '../../harness/until.ts';
import { verifySqlite } from '../../src/storage/tools/sqlite-verify.ts';

const CLIENTS = 4;
/** So many animals that a copy takes a while. */
const STOCK = 100_000;
const RSYNCS = 3;
const LOCK_SECONDS = 8;
/** A create may wait for a lock, and is then refused. */
const NEXT_MS_MAX = 5_000;
const REPLICATED_MS_MAX = 30_000;

async function serveUnderLoad(t: TestContext) {
  const data = temporaryFolder(t);
  const service = await ServiceProcess.start({ data });
  t.after(() => service.kill());
  {
    using database = new DatabaseSync(service.file);
    database.exec(`
      WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${STOCK})
      INSERT INTO pets (name, category_id, status) SELECT 'stock', n, 'sold' FROM numbers`);
  }
  const { key, baseUrl } = service;
  const load = new Load({ key, baseUrl: () => baseUrl, createEvery: 2, mayRefuse: true });
  load.start(CLIENTS);
  await load.untilAcknowledged(NEXT_MS_MAX);
  return { data, service, load, file: service.file, count: () => load.creates.acknowledged.size };
}

const rowsIn = (file: string, sql: string) => {
  using database = new DatabaseSync(file);
  return Number(Object.values(database.prepare(sql).get() ?? {})[0]);
};
const COUNT = 'SELECT count(*) FROM pets';

test(
  'beside the sqlite3 shell, and rsync, whose copies may be damaged, a store loses no acknowledged animal and gives no id twice',
  { skip: needsProgram('sqlite3') || needsProgram('rsync') },
  async (t) => {
    const { data, service, load, file, count } = await serveUnderLoad(t);
    const folder = temporaryFolder(t);
    const shell = (...words: string[]) => promisify(execFile)('sqlite3', ['-bail', file, ...words]);
    const after = async (what: string) => {
      await load.untilAcknowledged(NEXT_MS_MAX);
      t.diagnostic(`${what}: ${count()} acknowledged, ${load.counts.refused} refused`);
    };

    const before = count();
    await shell(`.backup '${join(folder, 'backup.sqlite')}'`);
    const copied = verifySqlite(join(folder, 'backup.sqlite'));
    assert.deepEqual([copied.problems, copied.animals >= STOCK + before], [[], true]);
    await after(`.backup of ${copied.animals}`);

    const dump = await promisify(execFile)('sh', [
      '-c',
      'sqlite3 "$0" .dump | sqlite3 "$1"',
      file,
      join(folder, 'dump.sqlite'),
    ]);
    assert.equal(dump.stderr, '');
    const dumped = rowsIn(join(folder, 'dump.sqlite'), COUNT);
    assert.ok(dumped >= copied.animals);
    await after(`.dump of ${dumped}`);

    for (const statement of ['VACUUM', 'PRAGMA wal_checkpoint(TRUNCATE)']) {
      await shell('.timeout 10000', statement);
      await after(statement);
    }
    const byHand = `INSERT INTO pets SELECT max(id) + 1, 'by hand', 1, 'sold' FROM pets`;
    for (let row = 0; row < 3; row += 1) await shell('.timeout 10000', byHand);
    await after('3 rows by hand');
    const refusedBefore = load.counts.refused;
    await shell('.timeout 10000', 'BEGIN IMMEDIATE', `.shell sleep ${LOCK_SECONDS}`, 'COMMIT');
    assert.ok(load.counts.refused > refusedBefore, 'creates are refused during a long lock');
    await after(`a lock of ${LOCK_SECONDS} s`);

    let damaged = 0;
    for (let round = 0; round < RSYNCS; round += 1) {
      const copy = join(folder, `rsync-${round}/`);
      const acknowledged = count();
      await promisify(execFile)('rsync', ['-a', join(data, 'production/'), copy]).catch(() => '');
      try {
        const { problems, animals } = verifySqlite(join(copy, 'petstore.sqlite'));
        if (problems.length > 0 || animals < STOCK + acknowledged) damaged += 1;
      } catch {
        damaged += 1;
      }
    }
    await after(`${RSYNCS} times rsync, ${damaged} of them damaged or not complete`);

    await load.stop();
    assert.deepEqual(await service.stop(), []);
    const { problems, animals } = verifySqlite(file);
    assert.deepEqual([load.violations, problems], [[], []]);
    // The rows by hand, and what was stored without a response.
    assert.ok(animals >= STOCK + count() + 3, `${animals} animals, ${count()} acknowledged`);
    assert.equal(rowsIn(file, `${COUNT} WHERE name = 'by hand'`), 3);
    for (const pet of load.creates.acknowledged.values()) {
      const { id, name } = JSON.parse(pet) as { id: number; name: string };
      assert.equal(rowsIn(file, `${COUNT} WHERE id = ${id} AND name = '${name}'`), 1);
    }
    t.diagnostic(`${animals} animals, ${STOCK} before, 3 by hand, ${count()} acknowledged, 0 lost`);
  },
);

test(
  'Litestream as backup.md says, beside VACUUM and checkpoints: a restored replica has every acknowledged animal, and new ids begin above',
  {
    skip: needs(
      'litestream, a Go module that .ci/run does not build',
      findProgram('litestream') !== undefined,
    ),
  },
  async (t) => {
    const { data, service, load, file, count } = await serveUnderLoad(t);
    const folder = temporaryFolder(t);
    const restored = join(folder, 'restored');
    mkdirSync(join(folder, 'nas'));
    const PATH = [petstoreFolder(t), dirname(findProgram('litestream') ?? ''), process.env['PATH']];
    const env = { PATH: PATH.join(delimiter), PETSTORE_DATA: restored };
    const [, replicate = '', ...restore] = commandsBelow('backup.md', '## A replica')
      .replaceAll('/var/lib/petstore', data)
      .replaceAll('/mnt/nas', join(folder, 'nas'))
      .trimEnd()
      .split('\n');

    const litestream = spawn('sh', ['-c', `exec ${replicate}`], { cwd: folder, env });
    t.after(() => litestream.kill('SIGKILL'));
    let log = '';
    litestream.stdout.on('data', (chunk: Buffer) => (log += chunk.toString()));
    await until('a snapshot', () => log.includes('snapshot complete'), REPLICATED_MS_MAX);
    for (const statement of ['VACUUM', 'PRAGMA wal_checkpoint(TRUNCATE)']) {
      await load.untilAcknowledged(NEXT_MS_MAX);
      using database = new DatabaseSync(file, { timeout: 10_000 });
      database.exec(statement);
      t.diagnostic(`${statement}: ${count()} acknowledged, ${load.counts.refused} refused`);
    }
    await load.untilAcknowledged(NEXT_MS_MAX);
    await load.stop();
    assert.deepEqual(load.violations, []);
    service.signal('SIGKILL');
    await service.ended;
    litestream.kill('SIGINT');
    await once(litestream, 'close');

    const said = await promisify(execFile)('sh', ['-euc', restore.join('\n')], {
      cwd: folder,
      env,
    });
    assert.match(said.stderr, /first new id: 1000001;/);
    const { problems, warnings, animals } = verifySqlite(
      join(restored, 'production', 'petstore.sqlite'),
    );
    assert.deepEqual(problems, []);
    assert.match(String(warnings), /^the table _litestream_\w+ is not the pet store's,the table _/);
    assert.ok(animals >= STOCK + count(), `${animals} animals, ${count()} acknowledged`);
    for (const pet of load.creates.acknowledged.values()) {
      const { id, name } = JSON.parse(pet) as { id: number; name: string };
      const sql = `${COUNT} WHERE id = ${id} AND name = '${name}'`;
      assert.equal(rowsIn(join(restored, 'production', 'petstore.sqlite'), sql), 1);
    }
    t.diagnostic(`${animals} animals, ${STOCK} before, ${count()} acknowledged, 0 lost`);
  },
);
