// The units for systemd, and the commands of docs/running.md that start, upgrade and downgrade with them, run literally by
// a user manager of systemd. Process 1 here is seldom systemd, so it has a mount namespace with a /run of its own. There is
// one user, nobody to log in, and no journal.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { MAIN } from '../../harness/command.ts';
import { blocksBelow, commandsBelow } from '../../harness/documented-commands.ts';
import { freePort } from '../../harness/free-port.ts';
import { needs, needsProgram } from '../../harness/needs.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { processVariables } from '../../src/config.ts';
import { newSecret } from '../../src/domain/api-key.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const MANAGER = '/lib/systemd/systemd';
const KEY = newSecret('production', randomBytes);
const REX = '{"id":1,"name":"Rex","categoryId":7,"status":"available"}';
const SCRIPT_MS_MAX = 120_000;
/** What only process 1 may do. test/project/contrib.unit.test.ts lets systemd judge these lines. */
const OF_ROOT =
  /^(User|StateDirectory|RequiresMountsFor|IPAddressDeny|LockPersonality|NoNewPrivileges|RemoveIPC|(CapabilityBounding|Private|Protect|Restrict|SystemCall)\w+)=.*\n/gm;

/** `pets` lists animals, `pets -d "$NEW"` creates one. The 30 attempts of a start are 3, so that no test waits for them. */
const BEFORE = `mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system /run/user/0
export XDG_RUNTIME_DIR=/run/user/0 SYSTEMD_UNIT_PATH=$HOME/etc/systemd/system:
${MANAGER} --user --log-target=console > ~/manager 2>&1 &
trap 'command systemctl --user stop "petstore*"; kill $(jobs -p)' EXIT
while ! systemctl --user list-units > /dev/null 2>&1; do sleep 0.1; done
systemctl() { [ "$1" = --user ] && shift; command systemctl --user "$@"; }
install() { command install $(echo "$@" | sed 's/-[og] petstore-production//g'); }
runuser() { shift 3; "$@"; }
pets() {
  curl -fsS --retry 60 --retry-delay 1 --retry-connrefused -H 'Authorization: Bearer ${KEY}' \\
    -H 'Content-Type: application/json' "$@" "http://127.0.0.1:$PETSTORE_PORT/v1/pets"; echo
}
NEW='{"name":"Rex","categoryId":7}'
`;
const INSTALL = `cd ~/release; set -e
install -m 755 petstore-linux-x64 /usr/local/bin/petstore
install -m 644 contrib/petstore*@.* /etc/systemd/system/
mkdir -p /var/lib/petstore/production /var/lib/petstore-backup/production
`;
const START = 'systemctl start petstore@production\n';

const skip =
  needsProgram('curl') ||
  needsProgram('systemd-analyze') ||
  needs(
    'root, unshare and systemd on Linux',
    spawnSync('unshare', ['-rm', MANAGER, '--version']).status === 0,
  );

/** Runs commands on a machine whose files are below a folder, and returns what they write. */
async function run(t: TestContext, script: string): Promise<string> {
  const home = temporaryFolder(t);
  const here = (text: string) =>
    text.replaceAll(/(?<![\w~])\/(?=(?:usr\/local|var|etc)\/)/g, `${home}/`);
  const folders = 'usr/local/bin etc/systemd/system etc/petstore release/contrib petstore';
  for (const folder of folders.split(' ')) mkdirSync(join(home, folder), { recursive: true });
  for (const file of globSync('petstore*@.*', { cwd: join(ROOT, 'contrib') })) {
    const unit = readFileSync(join(ROOT, 'contrib', file), 'utf8').replaceAll(OF_ROOT, '');
    writeFileSync(join(home, 'release/contrib', file), here(unit).replace('seq 30', 'seq 3'));
  }
  for (const name of ['bin', 'contrib', 'node_modules', 'package.json', 'src']) {
    symlinkSync(join(ROOT, name), join(home, 'petstore', name));
  }
  const program = `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`;
  writeFileSync(join(home, 'release/petstore-linux-x64'), program);
  const env = {
    ...processVariables,
    HOME: home,
    PATH: `${home}/usr/local/bin:${processVariables['PATH']}`,
    PETSTORE_PORT: String(await freePort()),
    PETSTORE_ADMIN_PORT: String(await freePort()),
    PETSTORE_BOOTSTRAP_KEY: KEY,
  };
  const options = { env, timeout: SCRIPT_MS_MAX, encoding: 'utf8' } as const;
  const words = ['-rm', 'bash', '-c', BEFORE + here(script)];
  const { stdout, stderr } = spawnSync('unshare', words, options);
  t.diagnostic(stderr);
  return stdout;
}

test(
  'the documented upgrade makes a backup, keeps the program before, and ends with a store that is verified',
  { skip },
  async (t) => {
    const upgrade = commandsBelow('running.md', '## Upgrade');
    const downgrade = commandsBelow('running.md', '### Downgrade').replace(
      'FILE',
      '$(ls ~/var/lib/petstore-backup/production)',
    );
    const start = `${INSTALL}exec 2>&1; ${START}pets -d "$NEW"\n`;
    const output = await run(t, `${start}${upgrade}${downgrade}pets\n`);
    const [created, ready, verified, readyAgain, pets] = output.split('\n');
    assert.deepEqual([created, ready, readyAgain, pets], [REX, 'ready', 'ready', `[${REX}]`]);
    assert.match(String(verified), /animals: 1, last id: 1, problems: 0\.$/);
  },
);

test(
  'the documented installation starts the service, and its commands import, back up, restore and list the keys',
  { skip },
  async (t) => {
    const [install = '', settings = '', start = ''] = blocksBelow('running.md', '## Under systemd');
    const [use = '', restore = '', withSettings = ''] = blocksBelow(
      'running.md',
      '### Commands on the store of the unit',
    );
    const nightly = commandsBelow('running.md', '### Backup every night');
    const output = await run(
      t,
      `cd ~/release; set -e; exec 2>&1
useradd() { :; }
journalctl() { cat ~/manager; }
mkdir -p /var/lib/petstore/production /var/lib/petstore-backup/production
${install}
cat > /etc/petstore/production.env << 'END'
${settings.split('# With PostgreSQL')[0]}PETSTORE_DATA='/var/lib/petstore'
END
${start}
printf 'name,category\\nRex,7\\n' > animals.csv
${use}${nightly}pets -d "$NEW"
${restore.replace('FILE', '$(ls ~/var/lib/petstore-backup/production)')}pets
${withSettings}systemctl is-enabled petstore@production petstore-backup@production.timer
`,
    );
    assert.match(output, /animals: 1, first new id: 3;/);
    assert.ok(output.includes(`\n[${REX}]\n`), output);
    assert.equal(output.match(/first key/g)?.length, 2, output);
    assert.match(output, /\nenabled\nenabled\n$/);
  },
);

const set = (setting: string) => `echo ${setting} > /etc/petstore/production.env`;
const OTHER = `"${process.execPath}" -e 'require("net").createServer().listen(+process.env.PETSTORE_PORT)'`;
const SLOW = String.raw`#!/bin/sh\n[ "$1" = serve ] && exec sleep 60\nexit 1\n`;

/** What is done before a start, its outcome, and the commands after it with what they print. */
const STARTS: [what: string, before: string, outcome: string, after?: string, prints?: string][] = [
  ['fails on a wrong setting', set('PETSTORE_RATE_LIMIT=often'), 'failed'],
  ['fails if another program has the port', `${OTHER} & sleep 1`, 'failed'],
  [
    'succeeds while the database is away',
    set('DATABASE_URL=postgres://a:b@127.0.0.1:1/c'),
    'active',
    'petstore health --live; petstore health || echo not ready',
    'alive\nnot ready\n',
  ],
  [
    'leaves a service alone that takes longer than its attempts',
    `printf '${SLOW}' > /usr/local/bin/petstore`,
    'active',
  ],
];

for (const [what, before, outcome, after = '', prints = ''] of STARTS) {
  test(`systemctl start ${what}`, { skip }, async (t) => {
    const start = `${INSTALL}${before}\nset +e\n${START}systemctl is-active petstore@production\n`;
    assert.equal(await run(t, start + after), `${outcome}\n${prints}`);
  });
}

test(
  'the unit for one user is accepted, and its documented commands start the service, again after kill -9',
  { skip },
  async (t) => {
    const commands = commandsBelow('running.md', '### At boot, without root')
      .split('\n')
      .filter((line) => line !== '' && !/^(?:loginctl|journalctl) /.test(line));
    assert.equal(commands.length, 5);
    const script = `set -e; cd ~/petstore
${commands.join('\n')}
systemd-analyze verify --user ~/.config/systemd/user/petstore.service
pets -d "$NEW"
systemctl kill --signal=KILL petstore
pets
systemctl show --property=NRestarts petstore
`;
    assert.equal(await run(t, script), `active\n${REX}\n[${REX}]\nNRestarts=1\n`);
  },
);
