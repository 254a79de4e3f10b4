// How the service stops: requests in flight get their responses, and the process ends in time.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { delimiter, join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { needs, needsProgram, OLDER_NODE } from '../../harness/needs.ts';
import { SAME_SIGNAL_MS } from '../../src/cli/serve.ts';
import { exchange, parseResponses } from '../../harness/raw-socket.ts';
import { serve, type ServiceProcess } from '../../harness/service-process.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { until } from '../../harness/until.ts';

const EXIT_MS_MAX = 10_000;
const MAIN = fileURLToPath(new URL('../../bin/petstore.js', import.meta.url));

async function serveIn(t: TestContext, flags: readonly string[] = []): Promise<ServiceProcess> {
  return serve(t, ['--data', temporaryFolder(t), ...flags]);
}

/** The command line of a service without an admin port, on a free port. */
function serveArgs(data: string): string[] {
  return [MAIN, 'serve', '--port', '0', '--admin-port', 'off', '--data', data];
}

function headOf(key: string, length: number): string {
  return `POST /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Length: ${length}\r\n\r\n`;
}

/** The first Node.js on the PATH that is too old for the service, whose launcher then starts another one. */
function findOlderNode(): string | undefined {
  const nodes = (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, 'node'));
  return nodes.find((node) => {
    const { stdout } = spawnSync(node, ['--version'], { encoding: 'utf8' });
    return Number.parseInt(stdout?.slice(1) ?? '26', 10) < 26;
  });
}

// Only the script of util-linux tells its version.
const needsTerminal = needsProgram('script', spawnSync('script', ['--version']).status === 0);
const olderNode = findOlderNode();
const STARTS: [what: string, command: string | undefined][] = [
  ['npm start', 'npm start --'],
  ['the command on this Node.js', `'${process.execPath}' '${MAIN}' serve`],
  ['the command on an older Node.js', olderNode && `'${olderNode}' '${MAIN}' serve`],
];
// A few at the same time, because they mostly wait.
describe('Stopping', { concurrency: 3 }, () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    test(`${signal}: a request in flight gets its response with Connection: close, and the exit code is 0`, async (t) => {
      const service = await serveIn(t);
      const { key, port, ended } = service;
      const response = await completeDuring(port, key, () => service.signal(signal));
      assert.equal(response?.status, 201);
      assert.match(response?.head ?? '', /^connection: close$/im);
      assert.equal(await ended, 0);
    });
  }

  test('SIGTERM with clients that hang stops the service within 10 seconds with exit code 0', async (t) => {
    const service = await serveIn(t);
    const { key, port, ended } = service;
    const hanging = [headOf(key, 100), 'GET /v1/pets HTT', ''].map((bytes) => {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined);
      socket.write(bytes);
      return socket;
    });
    await exchange(port, ['GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n']);
    const startedMs = performance.now();
    service.signal('SIGTERM');
    assert.equal(await ended, 0);
    assert.ok(performance.now() - startedMs < EXIT_MS_MAX);
    for (const socket of hanging) socket.destroy();
  });

  // The service runs in its own process, because the test runner would catch an error that ends it.
  test('a client that resets its CONNECT does not stop the service', async (t) => {
    const service = await serveIn(t);
    const { port, ended } = service;
    for (let round = 0; round < 5; round += 1) {
      await new Promise((resolve) => {
        const socket = connect(port, '127.0.0.1');
        socket.on('data', () => socket.resetAndDestroy());
        socket.on('error', () => undefined);
        socket.on('close', resolve);
        socket.write('CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n');
      });
    }
    const livez = 'GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';
    assert.equal(parseResponses(await exchange(port, [livez]))[0]?.status, 200);
    service.signal('SIGTERM');
    assert.equal(await ended, 0);
  });

  test('SIGTERM during the start stops the service with exit code 0', async (t) => {
    const data = temporaryFolder(t);
    const args = serveArgs(data);
    const child = spawn(process.execPath, args, { stdio: 'ignore' });
    t.after(() => child.kill('SIGKILL'));
    const ended = once(child, 'exit');
    // The folder is created when the store is opened, before the service listens.
    await until('the store is opened', () => existsSync(join(data, 'production')));
    child.kill('SIGTERM');
    assert.deepEqual(await ended, [0, null]);
  });

  test('SIGHUP to a single process is logged and ignored', async (t) => {
    const service = await serveIn(t);
    const { port, ended } = service;
    service.signal('SIGHUP');
    await until('it is logged', () => service.stderr().includes('SIGHUP is ignored'));
    const livez = 'GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';
    assert.equal(parseResponses(await exchange(port, [livez]))[0]?.status, 200);
    service.signal('SIGTERM');
    assert.equal(await ended, 0);
  });

  test('the service stops even if nobody reads its log', async (t) => {
    const service = await serveIn(t, ['--log', 'debug']);
    const { port, ended } = service;
    service.stopReading();
    const one = `GET /livez HTTP/1.1\r\nHost: a\r\nX-Request-Id: ${'x'.repeat(128)}\r\n\r\n`;
    for (let round = 0; round < 40; round += 1) {
      const responses = parseResponses(
        await exchange(port, [one.repeat(100)], { responsesMax: 100 }),
      );
      assert.equal(responses.length, 100, 'every request must get its response');
    }
    const startedMs = performance.now();
    service.signal('SIGTERM');
    const hangs = sleep(2 * EXIT_MS_MAX, 'it still runs', { ref: false });
    assert.equal(await Promise.race([ended, hangs]), 0);
    assert.ok(performance.now() - startedMs < EXIT_MS_MAX);
  });

  test('a signal again after more than a second stops the service at once', async (t) => {
    const service = await serveIn(t);
    const { key, port, ended } = service;
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(headOf(key, 100));
    await exchange(port, ['GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n']);
    service.signal('SIGTERM');
    await refusesConnections(port);
    assert.match(service.stderr(), /"msg":"stopping"/);
    await sleep(SAME_SIGNAL_MS + 100);
    service.signal('SIGTERM');
    assert.equal(await ended, 1);
    socket.destroy();
  });

  test('signals that arrive while the stopped process exits do not change how it ends', async (t) => {
    const args = serveArgs(temporaryFolder(t));
    const child = spawn(process.execPath, args);
    t.after(() => child.kill('SIGKILL'));
    let shown = '';
    child.stderr.on('data', (chunk: Buffer) => (shown += chunk.toString()));
    await until('it starts', () => shown.includes('"msg":"started"'));
    const ended = once(child, 'exit');
    child.kill('SIGINT');
    while (!shown.includes('"msg":"stopped"')) await immediate();
    while (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGINT');
      await immediate();
    }
    const [, signal] = (await ended) as [number | null, NodeJS.Signals | null];
    assert.equal(signal, null);
  });

  for (const [what, command] of STARTS) {
    const skip = needsTerminal || needs(OLDER_NODE, command !== undefined);
    test(`Ctrl-C on a terminal: ${what} completes the request in flight`, { skip }, async (t) => {
      // exec: the shell of script would get the signal too, and dash reports it as its own end.
      const line = `exec ${command} --port 0 --admin-port off --data '${temporaryFolder(t)}'`;
      const terminal = spawn('script', ['-qefc', line, '/dev/null'], {
        cwd: fileURLToPath(new URL('../../', import.meta.url)),
        stdio: 'pipe',
      });
      t.after(() => terminal.kill('SIGKILL'));
      const ended = once(terminal, 'close');
      let shown = '';
      terminal.stdout.on('data', (chunk: Buffer) => (shown += chunk.toString()));
      // On a terminal, the log is text for people.
      while (!/ started /.test(shown)) {
        assert.equal(terminal.exitCode, null, shown);
        await sleep(20);
      }
      const port = Number(/ready at http:\S+:(\d+)/.exec(shown)?.[1]);
      const key = /pet_live_\w{36}/.exec(shown)?.[0] ?? '';
      const completed = completeDuring(port, key, () => terminal.stdin.write('\u0003'));
      assert.equal((await completed)?.status, 201, shown);
      const [code] = (await ended) as [number | null];
      assert.match(shown, / stopped/);
      // npm may report the signal that it received itself.
      assert.ok(code === 0 || (what === 'npm start' && code === 130), `${code}: ${shown}`);
    });
  }

  test(
    'a terminal that is closed stops the service as SIGTERM does',
    { skip: needsTerminal },
    async (t) => {
      const data = temporaryFolder(t);
      const log = join(data, 'log');
      const flags = `--port 0 --admin-port off --data '${data}'`;
      const line = `exec '${process.execPath}' '${MAIN}' serve ${flags} 2>'${log}'`;
      const terminal = spawn('script', ['-qefc', line, '/dev/null'], { stdio: 'pipe' });
      t.after(() => terminal.kill('SIGKILL'));
      const shows = (text: string) =>
        until(text, () => existsSync(log) && readFileSync(log, 'utf8').includes(text));
      await shows('"msg":"started"');
      // The terminal is gone together with the program that has opened it.
      terminal.kill('SIGKILL');
      await shows('"signal":"SIGHUP","msg":"stopping"');
      await shows('"msg":"stopped"');
    },
  );

  test(
    'SIGTERM to the whole process group counts once, though an older Node.js passes its own on',
    { skip: needs(OLDER_NODE, olderNode !== undefined) },
    async (t) => {
      const args = serveArgs(temporaryFolder(t));
      const child = spawn(String(olderNode), args, { detached: true });
      const killGroup = (signal: NodeJS.Signals) => process.kill(-Number(child.pid), signal);
      t.after(() => child.exitCode === null && killGroup('SIGKILL'));
      const ended = once(child, 'exit');
      let shown = '';
      child.stderr.on('data', (chunk: Buffer) => (shown += chunk.toString()));
      const [printed] = (await once(child.stdout, 'data')) as [Buffer];
      await until('it starts', () => shown.includes('"msg":"started"'));
      const port = Number(/"baseUrl":"http:[^"]+:(\d+)\//.exec(shown)?.[1]);
      const key = /pet_live_\w{36}/.exec(printed.toString())?.[0] ?? '';
      const completed = await completeDuring(port, key, () => killGroup('SIGTERM'));
      assert.equal(completed?.status, 201, shown);
      assert.deepEqual(await ended, [0, null]);
    },
  );
});

/** Sends the first half of a create, has the service stopped, and sends the rest when it accepts no more. */
async function completeDuring(port: number, key: string, stop: () => void) {
  const body = '{"name":"Last","categoryId":1}';
  const socket = connect(port, '127.0.0.1');
  let received = '';
  socket.on('data', (chunk) => (received += chunk.toString()));
  // A reset must fail the assertion below, and not the whole test file.
  socket.on('error', () => undefined);
  const closed = once(socket, 'close');
  socket.write(headOf(key, body.length) + body.slice(0, 10));
  // The service must read the head before the signal. After a round trip on another connection it has.
  await exchange(port, ['GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n']);
  stop();
  await refusesConnections(port);
  socket.write(body.slice(10));
  await closed;
  return parseResponses(received)[0];
}

/** Resolves when the port accepts no more connections. */
async function refusesConnections(port: number): Promise<void> {
  const isOpen = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1');
      socket.on('connect', () => {
        socket.destroy();
        resolve(true);
      });
      socket.on('error', () => resolve(false));
    });
  await until('the port is closed', async () => !(await isOpen()));
}
