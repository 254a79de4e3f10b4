// The machines and the network of `npm run drill patroni`.

import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { test, type TestContext } from 'node:test';
import { canOpenNetwork } from './network.ts';
import { needs, needsProgram } from '../../harness/needs.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { until } from '../../harness/until.ts';

const skip = needsProgram('ip') || needs('the right to make network namespaces', canOpenNetwork());

/** Opens a network with one machine, and then does what `rest` says. A closed port refuses a connection at once. */
const program = (rest: string) => `
  import { connect } from 'node:net';
  import { addressOf, Network } from ${JSON.stringify(import.meta.resolve('../../drills/patroni/network.ts'))};
  const probe = () => new Promise((resolve) => {
    const socket = connect({ host: addressOf(1), port: 9 });
    socket.once('error', ({ code }) => resolve(code));
    setTimeout(() => { socket.destroy(); resolve('no response'); }, 500);
  });
  const network = await Network.open(process.argv[1]);
  const machine = await network.startMachine('node1', 1);
  while ((await probe()) !== 'ECONNREFUSED');
  ${rest}`;

/** In a network namespace of its own, so that a drill that runs meanwhile is not disturbed. */
function run(context: TestContext, rest: string) {
  const folder = temporaryFolder();
  const args = ['--net', process.execPath, '--input-type=module', '--eval', program(rest), folder];
  const child: ChildProcess = spawn('unshare', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  context.after(() => child.kill('SIGKILL'));
  assert.ok(child.stdout);
  return { folder, child, lines: createInterface({ input: child.stdout }) };
}

test(
  'a machine that is disconnected loses every packet until it is connected again',
  { skip },
  async (context) => {
    const { lines, folder } = run(
      context,
      `await network.disconnect('node1');
     const cut = await probe();
     await network.connect('node1');
     while ((await probe()) !== 'ECONNREFUSED');
     await network.close();
     console.log(cut);`,
    );
    assert.deepEqual(await once(lines, 'line'), ['no response']);
    assert.equal(existsSync(folder), false);
  },
);

test('kill -9 of the drill leaves no machine and no folder behind', { skip }, async (context) => {
  const { child, lines, folder } = run(
    context,
    `machine.run('sleep 600 &');
     console.log(machine.id);
     await new Promise(() => setInterval(() => undefined, 1_000));`,
  );
  const [id] = (await once(lines, 'line')) as [string];
  assert.ok(existsSync(`/proc/${id}`) && existsSync(folder));
  child.kill('SIGKILL');
  await until('the machine has ended', () => !existsSync(`/proc/${id}`));
  await until('the folder is removed', () => !existsSync(folder));
});
