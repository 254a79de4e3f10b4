// Command sequences of the pages, run literally: those that put a file in the place of a store, after an unclean end.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { runHere } from '../../harness/command.ts';
import { commandsBelow } from '../../harness/documented-commands.ts';
import { serve, type ServiceProcess } from '../../harness/service-process.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { send } from '../../harness/test-service.ts';

/** The service is killed and started by the test itself, of one version. test/long/systemd.test.ts runs these lines too. */
const LEFT_OUT = /^(systemctl|install|petstore) /;

async function create({ baseUrl, key }: ServiceProcess, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const response = await send(`${baseUrl}/pets`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: '{"name":"Rex","categoryId":1}',
    });
    assert.equal(response.status, 201);
  }
}

/** A backup with 3 animals, and a store with 40 whose service was killed, so that its log has the last ones. */
async function killedStore(t: TestContext) {
  const folder = temporaryFolder(t);
  const [data, backups] = [join(folder, 'petstore'), join(folder, 'petstore-backup')];
  mkdirSync(join(backups, 'production'), { recursive: true });
  const backup = join(backups, 'production', 'FILE');
  const service = await serve(t, ['--data', data]);
  await create(service, 3);
  assert.equal((await runHere(['backup', backup, '--data', data])).code, 0);
  await create(service, 37);
  service.signal('SIGKILL');
  await service.ended;
  assert.ok(existsSync(join(data, 'production', 'petstore.sqlite-wal')));
  return { folder, data };
}

test('the downgrade: the documented commands leave exactly the backup, also after kill -9', async (t) => {
  const { folder, data } = await killedStore(t);
  const lines = commandsBelow('running.md', '### Downgrade')
    .split('\n')
    .filter((line) => !LEFT_OUT.test(line));
  const script = lines.join('\n').replaceAll('/var/lib/', `${folder}/`);
  execFileSync('sh', ['-e', '-u', '-c', script], { cwd: folder });
  const verified = await runHere(['verify', '--data', data]);
  assert.equal(verified.code, 0, verified.stderr);
  assert.match(verified.stderr, /: animals: 3, last id: 3, problems: 0\.\n$/);
  const next = await serve(t, ['--data', data]);
  next.signal('SIGTERM');
  assert.equal(await next.ended, 0);
});

/** A folder that looks like the clone, and has a Node.js that says it is version 20. */
function newClone(t: TestContext): { folder: string; older: string } {
  const folder = temporaryFolder(t);
  for (const name of ['bin', 'node_modules', 'package.json', 'scripts', 'src']) {
    symlinkSync(join(import.meta.dirname, '../..', name), join(folder, name));
  }
  const older = join(folder, 'older');
  mkdirSync(older);
  const pretend =
    "data:text/javascript,Object.defineProperty(process.versions,'node',{value:'20.20.0'})";
  const script = `#!/bin/sh\nexec '${process.execPath}' --import "${pretend}" "$@"\n`;
  writeFileSync(join(older, 'node'), script, { mode: 0o755 });
  return { folder, older };
}

/** The first line of the log of a service that a shell starts. */
async function startedBy(line: string, cwd: string, path: string): Promise<string> {
  const PATH = [path, process.env['PATH']].join(delimiter);
  const child = spawn('sh', ['-c', line], { cwd, env: { PATH }, detached: true });
  let log = '';
  child.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()));
  while (!log.includes('"msg":"started"') && child.exitCode === null) {
    await Promise.race([once(child.stderr, 'data'), once(child, 'close')]);
  }
  const closed = once(child, 'close');
  // The service may be a child of npm, or of another Node.js.
  if (child.exitCode === null) process.kill(-Number(child.pid), 'SIGTERM');
  await closed;
  return log;
}

test('a file of variables reaches the service, by npm start and also where the launcher starts another Node.js', async (t) => {
  const [direct = '', npm = ''] = commandsBelow('settings.md', '## A file of variables')
    .trimEnd()
    .split('\n');
  const newest = dirname(process.execPath);
  const starts = [direct, direct, npm].map(async (line, index) => {
    const { folder, older } = newClone(t);
    const site = `https://pets.example/${index}`;
    const settings = `PETSTORE_PORT=0\nPETSTORE_ADMIN_PORT=off\nPETSTORE_BASE_URL='${site}/v1'\n`;
    writeFileSync(join(folder, '.env'), settings);
    const log = await startedBy(line, folder, index === 1 ? older : newest);
    assert.ok(log.includes(`"baseUrl":"${site}/v1"`), log);
  });
  await Promise.all(starts);
});
