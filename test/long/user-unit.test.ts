// The unit for one user, and its block of docs/running.md, run literally by the user manager of systemd. Where process 1
// is not systemd, the manager runs in a mount namespace with a /run of its own. There is nobody to log in, so `loginctl`
// is left out, and no journal: the first key is chosen.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { processVariables } from '../../src/config.ts';
import { newSecret } from '../../src/domain/api-key.ts';
import { commandsBelow } from '../../harness/documented-commands.ts';
import { freePort } from '../../harness/free-port.ts';
import { needs, needsProgram } from '../../harness/needs.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { send } from '../../harness/test-service.ts';
import { until } from '../../harness/until.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MANAGER = '/lib/systemd/systemd';
const hasManager = spawnSync('unshare', ['-m', MANAGER, '--version']).status === 0;
const skip =
  needsProgram('systemd-analyze') || needs('root, unshare and systemd on Linux', hasManager);

test(
  'the unit for one user is accepted, and its documented commands start the service, again after kill -9',
  { skip },
  async (t) => {
    const home = temporaryFolder(t);
    const clone = join(home, 'petstore');
    mkdirSync(clone);
    for (const name of ['bin', 'contrib', 'node_modules', 'package.json', 'src']) {
      symlinkSync(join(ROOT, name), join(clone, name));
    }
    const port = await freePort();
    const key = newSecret('production', randomBytes);
    const settings = { PORT: port, ADMIN_PORT: 'off', BOOTSTRAP_KEY: key };
    const lines = Object.entries(settings).map(([name, value]) => `PETSTORE_${name}=${value}\n`);
    writeFileSync(join(clone, '.env'), lines.join(''));
    const commands = commandsBelow('running.md', '### At boot, without root')
      .split('\n')
      .filter((line) => !/^(?:loginctl|journalctl) /.test(line));
    assert.equal(commands.filter(Boolean).length, 5);

    const script = join(home, 'script.sh');
    const output = join(home, 'output');
    writeFileSync(
      script,
      `exec > ${output} 2>&1
mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system /run/user/0
export XDG_RUNTIME_DIR=/run/user/0 HOME=${home}
${MANAGER} --user --log-target=console > ${join(home, 'manager')} 2>&1 & manager=$!
trap 'systemctl --user stop petstore; kill $manager' EXIT
while ! systemctl --user list-units > /dev/null 2>&1; do sleep 0.1; done
cd ${clone} && set -e
${commands.join('\n')}
systemd-analyze verify --user ~/.config/systemd/user/petstore.service
echo started
read wait < ${join(home, 'kill')}
systemctl --user kill --signal=KILL petstore
echo killed
read wait < ${join(home, 'stop')}
systemctl --user stop petstore
echo stopped
`,
    );
    for (const name of ['kill', 'stop'])
      assert.equal(spawnSync('mkfifo', [join(home, name)]).status, 0);
    const machine = spawn('unshare', ['-m', 'bash', script], {
      env: processVariables,
      stdio: 'ignore',
    });
    const ended = once(machine, 'exit');
    t.after(async () => {
      machine.kill('SIGTERM');
      await ended;
    });

    const url = `http://127.0.0.1:${port}/v1/pets`;
    const headers = { authorization: `Bearer ${key}` };
    const responds = () =>
      fetch(url, { headers }).then(
        ({ status }) => status === 200,
        () => false,
      );
    await until('the service responds', responds);
    await send(url, { method: 'POST', headers, body: '{"name":"Rex","categoryId":7}' });
    writeFileSync(join(home, 'kill'), '\n');
    await until('it was killed', () => readFileSync(output, 'utf8').includes('killed\n'));
    await until('systemd starts it again', responds);
    assert.match((await send(url, { headers })).text, /"name":"Rex"/);
    writeFileSync(join(home, 'stop'), '\n');
    await ended;
    assert.equal(await responds(), false);
    assert.match(readFileSync(output, 'utf8'), /started\nkilled\nstopped\n$/);
  },
);
