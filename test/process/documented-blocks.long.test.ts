// The commands of docs/ and of the README, run as somebody who pastes them, beside a service. `journalctl` gives its log.
// Those for systemd, PostgreSQL, proxies and generated clients have tests of their own.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { delimiter, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { blocksBelow, petstoreFolder, runInShell } from '../../harness/documented-commands.ts';
import { freePort } from '../../harness/free-port.ts';
import { needsProgram } from '../../harness/needs.ts';
import { READY, serve, type ServiceProcess } from '../../harness/service-process.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { send } from '../../harness/test-service.ts';
import { until } from '../../harness/until.ts';

const REX = '{"name":"Rex","categoryId":7}';
const NEW_KEY = /^pet_live_\w{36}$/m;
/** Standard error too, where commands say what they did. */
const ALL = 'exec 2>&1\n';
/** What needs another machine, or a person who answers. */
const LEFT_OUT = /^(?:ssh |petstore catalogue remove 17 ).*\n/gm;
const skip =
  ['curl', 'jq', 'ss', 'fuser', 'namei'].map((name) => needsProgram(name)).find(Boolean) ?? false;

/** A service, and the shell of the person who runs it, in a folder of its own. */
class Place {
  readonly service: ServiceProcess;
  readonly folder: string;
  readonly #t: TestContext;

  private constructor(t: TestContext, service: ServiceProcess, folder: string) {
    [this.#t, this.service, this.folder] = [t, service, folder];
  }

  static async open(t: TestContext, ...flags: string[]): Promise<Place> {
    const folder = temporaryFolder(t);
    const place = ['--data', join(folder, 'data'), '--log', 'info', '--admin-port', '0'];
    return new Place(t, await serve(t, [...place, ...flags]), folder);
  }

  async create(key = this.service.key): Promise<void> {
    const headers = { authorization: `Bearer ${key}`, 'x-request-id': 'THE-ID' };
    const { status } = await send(`${this.service.baseUrl}/pets`, {
      method: 'POST',
      headers,
      body: REX,
    });
    assert.equal(status, 201);
  }

  /** Runs the commands with the ports, the folders and the process of this service. */
  async run(commands: string, keyId = ''): Promise<string> {
    const { baseUrl, adminUrl, pid, key } = this.service;
    const [port, adminPort] = [baseUrl, adminUrl].map((url) => new URL(url).port);
    writeFileSync(join(this.folder, 'log'), this.service.stdout() + this.service.stderr());
    const here = commands
      .replaceAll(LEFT_OUT, '')
      .replaceAll(':8080', `:${port}`)
      .replaceAll(':9464', `:${adminPort}`)
      .replaceAll(/key_(?:4fR9sT0aBc|7Hs2m)/g, keyId)
      .replaceAll('/PID/', `/${pid}/`)
      .replaceAll('/var/lib/petstore', join(this.folder, 'data'))
      .replaceAll(/\/(?=(?:var|tmp)\/)/g, `${this.folder}/`);
    const variables = {
      KEY: key,
      TMPDIR: this.folder,
      PETSTORE_DATA: join(this.folder, 'data'),
      PETSTORE_PORT: String(port),
      PETSTORE_ADMIN_PORT: String(adminPort),
    };
    return runInShell(
      this.#t,
      `journalctl() { cat ${this.folder}/log; }\n${here}`,
      this.folder,
      variables,
    );
  }

  async newKeyId(): Promise<string> {
    const list = await this.run('petstore keys create --name other > key; petstore keys list');
    return /^(key_\w+).*other/m.exec(list)?.[1] ?? '';
  }
}

test('keys are made, rotated and revoked by the blocks of access.md and the README', async (t) => {
  const place = await Place.open(t);
  const keyId = await place.newKeyId();
  const [keys = ''] = blocksBelow('access.md', '## Keys');
  const printed = await place.run(keys, keyId);
  assert.equal(printed.match(/^pet_live_/gm)?.length, 2, printed);
  const [first = ''] = blocksBelow('access.md', '### The first key');
  const before = readdirSync(place.folder).toSorted();
  assert.match(await place.run(first), NEW_KEY);
  assert.deepEqual(readdirSync(place.folder).toSorted(), before, 'the store of the key is gone');
  const [leaked = ''] = blocksBelow('access.md', '### A key has leaked');
  assert.match(await place.run(leaked, await place.newKeyId()), NEW_KEY);
  const [person = ''] = blocksBelow(
    'access.md',
    '## Use it from the other computer: LAN and HTTPS',
  ).slice(1);
  const [another = ''] = blocksBelow('../README.md', '## Start').slice(-1);
  for (const block of [person, another.replace('./petstore', 'petstore')]) {
    assert.match(await place.run(block), NEW_KEY);
  }
});

test('the README adds and lists animals with curl', { skip }, async (t) => {
  const place = await Place.open(t);
  const [block = ''] = blocksBelow('../README.md', '## The first five minutes');
  const printed = await place.run(block.replace(/^KEY=pet_live_…/, `KEY=${place.service.key}`));
  const rex = /^# (\{.*\})$/m.exec(block)?.[1];
  assert.equal(printed, `${rex}[${rex}][${rex}]`);
});

test('a backup is made, kept, checked, rehearsed and restored by the blocks of backup.md', async (t) => {
  const place = await Place.open(t);
  await place.create();
  const [block = ''] = blocksBelow('backup.md', '# Backup and restore');
  const restoreAt = block.indexOf('petstore restore monday.sqlite  ');
  const made = await place.run(ALL + block.slice(0, restoreAt));
  assert.equal(made.match(/animals: 1,/g)?.length, 3, made);
  await place.create();
  place.service.signal('SIGTERM');
  await place.service.ended;
  const rehearsal = block.slice(block.indexOf('petstore restore', restoreAt + 1));
  assert.match(await place.run(ALL + rehearsal), /animals: 1, first new id: 1000001/);
  const [restore = ''] = blocksBelow('backup.md', '## Restore');
  assert.match(await place.run(ALL + restore), /animals: 1, first new id: 3[^]*first key/);
});

test('animals are imported, exported, changed and removed by the blocks of catalogue.md', async (t) => {
  const place = await Place.open(t);
  const file = (text: string | Buffer, name = 'animals.csv') =>
    writeFileSync(join(place.folder, name), text);
  const rows = Array.from({ length: 19 }, (_, index) => `Animal ${index + 1},1\n`);
  file(`name,category\n${rows.join('')}`);
  file('18\n19\n', 'ids.txt');
  const [block = ''] = blocksBelow('catalogue.md', '# Import, export, change and remove');
  await place.run(block);
  const exported = await place.run('petstore export');
  assert.equal(exported.trimEnd().split('\n').length, 17);
  assert.match(exported, /\{"id":17,"name":"Bella","categoryId":7,"status":"sold"\}\n$/);
  assert.match(readFileSync(join(place.folder, 'for-excel.csv'), 'utf8'), /Animal 19/);

  const [german = '', plain = ''] = (
    blocksBelow('catalogue.md', '### Spreadsheets')[0] ?? ''
  ).split(/^(?=petstore import animals\.csv --columns 1,2 )/m);
  file(Buffer.from('Tier;Art;Stand\nMüsli;7;sold\n', 'latin1'));
  await place.run(german);
  file('Max,7\n');
  await place.run(plain);
  assert.match(await place.run('petstore export | tail -2'), /"Müsli".*"sold"\}\n.*"Max"/);
});

test('the blocks of monitoring.md show health, the log and what a key did', { skip }, async (t) => {
  const place = await Place.open(t, '--access-log', '-', '--log', 'debug');
  const keyId = await place.newKeyId();
  await place.create(readFileSync(join(place.folder, 'key'), 'utf8').trim());
  await until('both logs are written', () => place.service.stdout().includes('"petId":"1"'));
  const [first = ''] = blocksBelow('monitoring.md', '# Monitoring and logs');
  const shown = await place.run(first);
  assert.match(shown, /^ready\nalive\n/);
  assert.match(shown, /petstore_pets_created_total 1/);
  assert.match(shown, /"requestId":"THE-ID"/);
  const [did = ''] = blocksBelow('monitoring.md', '## What did a key do');
  const lines = (await place.run(did.replaceAll('"17"', '"1"'), keyId)).split('\n');
  assert.equal(lines[0], '1', 'the animals that it created');
  assert.match(String(lines[1]), /1 127\.0\.0\.1$/);
  assert.match(String(lines[2]), new RegExp(`${keyId}","POST",201`));
});

/** What shows only what is wrong. */
const MAY_SHOW_NOTHING =
  /petstore verify|connectionsMax|level|status":503|request was slow|-so \/dev\/null|dd if=/;
const PROGRAMS = 'ss|namei|df|du|fuser|grep|curl|dd|ls|petstore (?:health|verify|keys|export)';

test('the commands of troubleshooting.md run beside a service', { skip }, async (t) => {
  const place = await Place.open(t, '--rate-limit', '600/60s');
  await place.create();
  writeFileSync(join(place.folder, 'data/production/petstore.sqlite.before-restore-1'), '');
  const page = readFileSync(new URL('../../docs/troubleshooting.md', import.meta.url), 'utf8');
  const [first = ''] = blocksBelow('troubleshooting.md', '# Troubleshooting');
  assert.match(await place.run(first), /^ready\n[^]*^petstore_writes_waiting/m);
  const [full = ''] = blocksBelow('troubleshooting.md', '## The disk is full');
  const inLines = page.matchAll(new RegExp(`\`((?:${PROGRAMS}) ?[^\`]*)\``, 'g'));
  const commands = [
    full,
    ...[...inLines].map(([, command = '']) => command.replaceAll('\\|', '|')),
  ];
  assert.ok(commands.length > 20);
  for (const command of commands.filter((each) => !each.includes('petstore_pool'))) {
    const printed = await place.run(`data=data\n${command}`);
    assert.ok(printed !== '' || MAY_SHOW_NOTHING.test(command), command);
  }
  const [failed = ''] = blocksBelow('troubleshooting.md', '## Responses are 500 `internal_error`');
  await place.run(`echo '{"requestId":"THE-ID"}' > petstore.log\n${failed}`);
});

/** The lines that start a service, and an address that it must have. */
const STARTS = [
  ...blocksBelow('running.md', '# Install, start and stop'),
  ...blocksBelow('settings.md', '## Production and staging').slice(0, 1),
  ...blocksBelow('access.md', '## Use it from the other computer: LAN and HTTPS').slice(0, 1),
].flatMap((block) => block.match(/^petstore serve.*?(?=  |$)/gm) ?? []);
/** With workers, SIGHUP comes before. */
const [, ...SIGNALS] = /(kill -TERM PID).*\n(kill -HUP PID)/.exec(
  blocksBelow('running.md', '# Install, start and stop')[0] ?? '',
) ?? [''];

for (const line of new Set(STARTS)) {
  test(`\`${line}\` starts a service that the documented commands find, replace and stop`, async (t) => {
    const folder = temporaryFolder(t);
    const port = await freePort();
    const env = {
      PATH: [petstoreFolder(t), process.env['PATH']].join(delimiter),
      PETSTORE_DATA: folder,
      PETSTORE_PORT: String(port),
      PETSTORE_ADMIN_PORT: 'off',
    };
    const child = spawn('sh', ['-c', `exec ${line}`], { cwd: folder, env });
    t.after(() => child.kill('SIGKILL'));
    const ended = once(child, 'exit');
    let log = '';
    child.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()));
    await until('it is ready', () => READY.test(log));
    const shell = (command: string) =>
      runInShell(t, command.replace('PID', String(child.pid)), folder, env);
    assert.equal(await shell('petstore health'), 'ready\n');
    if (line.includes('0.0.0.0')) {
      const all = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
      const other = all.find(({ family, internal }) => family === 'IPv4' && !internal);
      if (other !== undefined) {
        assert.equal((await send(`http://${other.address}:${port}/livez`)).status, 200);
      }
    }
    const [stop = '', replace = ''] = SIGNALS;
    if (line.includes('--workers')) {
      await shell(replace);
      await until('its workers are replaced', () => log.includes('all workers were replaced'));
    }
    await shell(stop);
    assert.deepEqual(await ended, [0, null], log);
  });
}
