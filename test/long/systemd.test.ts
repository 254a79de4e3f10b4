// The unit of the service, and the commands of the pages that upgrade and downgrade it under systemd, run literally
// below a folder. Process 1 here is seldom systemd, so a short script runs what the units say.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { MAIN } from '../../harness/command.ts';
import { commandsBelow } from '../../harness/documented-commands.ts';
import { freePort } from '../../harness/free-port.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { send } from '../../harness/test-service.ts';
import { newSecret } from '../../src/domain/api-key.ts';

const CONTRIB = fileURLToPath(new URL('../../contrib', import.meta.url));
const KEY = newSecret('production', randomBytes);

/** Starts and stops what the units say. The 30 attempts are 3, so that no test waits for them. */
const SYSTEMCTL = `#!/bin/sh
verb=$1; shift
[ "$verb" = daemon-reload ] && exit
[ "$1" = --now ] && shift
unit=$1; instance=\${unit#*@}; pid="$ROOT/run/$unit.pid"
case $unit in *@*) template="\${unit%%@*}@";; *) template=$unit;; esac
file="$ROOT/etc/systemd/system/$template.service"
lines() {
  sed -n "s/^$1=//p" "$file" | sed "s/%i/$instance/g; s#/\\(usr/local\\|var\\|etc\\)/#$ROOT/\\1/#g; s/seq 30/seq 3/" | sed 's/[$][$]/$/g'
}
case $verb in
stop | disable)
  kill "$(cat "$pid")"
  while kill -0 "$(cat "$pid")" 2>/dev/null; do sleep 0.1; done
  ;;
start | enable)
  set -a
  for setting in $(lines Environment); do eval "$setting"; done
  [ -e "$ROOT/etc/petstore/$instance.env" ] && . "$ROOT/etc/petstore/$instance.env"
  if grep -q '^Type=oneshot' "$file"; then
    lines ExecStart | sh -e >"$ROOT/run/$unit.log" 2>&1
    exit
  fi
  $(lines ExecStart) >"$ROOT/run/$unit.log" 2>&1 &
  MAINPID=$!; echo $MAINPID > "$pid"
  eval "$(lines ExecStartPost)" || { kill $MAINPID 2>/dev/null; exit 1; }
  ;;
esac
`;

/** The tests need no rights: there is one user. */
const STAND_INS = {
  systemctl: SYSTEMCTL,
  useradd: '#!/bin/sh\n',
  chown: '#!/bin/sh\n',
  runuser: '#!/bin/sh\nshift 3; exec "$@"\n',
  install: `#!/bin/sh\nexec /usr/bin/install $(echo "$@" | sed 's/-[og] petstore-production//g')\n`,
};

interface Machine {
  root: string;
  baseUrl: string;
  /** Runs commands in the folder of a release, and returns their exit code and what they wrote. */
  sh: (script: string) => { status: number | null; output: string };
}

/** A folder with the names of a machine, where this version lies ready to be installed. */
async function newMachine(t: TestContext): Promise<Machine> {
  // Registered before the folder is, so that the services end before it is removed.
  t.after(() => endServices(root));
  const root = temporaryFolder(t);
  for (const folder of ['usr/local/bin', 'var/lib', 'etc/systemd/system', 'etc/petstore', 'run']) {
    mkdirSync(join(root, folder), { recursive: true });
  }
  mkdirSync(join(root, 'release'));
  mkdirSync(join(root, 'stand-ins'));
  for (const [name, text] of Object.entries(STAND_INS)) {
    writeProgram(join(root, 'stand-ins', name), text);
  }
  writeProgram(join(root, 'release/petstore-linux-x64'), programOf(MAIN));
  symlinkSync(CONTRIB, join(root, 'release/contrib'));
  const port = await freePort();
  const env = {
    PATH: [join(root, 'stand-ins'), join(root, 'usr/local/bin'), process.env['PATH']].join(':'),
    ROOT: root,
    PETSTORE_PORT: String(port),
    PETSTORE_ADMIN_PORT: String(await freePort()),
    PETSTORE_BOOTSTRAP_KEY: KEY,
  };
  const sh = (script: string) => {
    const here = script.replaceAll(/\/(?=(?:usr\/local|var|etc)\/)/g, `${root}/`);
    const file = join(root, 'run/output');
    const options = { cwd: join(root, 'release'), env, timeout: 60_000 };
    // To a file: a service that runs on would keep a pipe open.
    const { status } = spawnSync('sh', ['-euc', `exec >${file} 2>&1\n${here}`], options);
    return { status, output: readFileSync(file, 'utf8') };
  };
  return { root, baseUrl: `http://127.0.0.1:${port}/v1`, sh };
}

function endServices(root: string): void {
  const files = readdirSync(join(root, 'run')).filter((name) => name.endsWith('.pid'));
  for (const file of files) {
    const pid = Number(readFileSync(join(root, 'run', file), 'utf8'));
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'ESRCH');
    }
  }
}

const programOf = (main: string) => `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`;

function writeProgram(file: string, text: string): void {
  writeFileSync(file, text);
  chmodSync(file, 0o755);
}

const authorization = `Bearer ${KEY}`;

async function create({ baseUrl }: Machine): Promise<void> {
  const body = '{"name":"Rex","categoryId":1}';
  const { status, text } = await send(`${baseUrl}/pets`, {
    method: 'POST',
    headers: { authorization },
    body,
  });
  assert.equal(status, 201, text);
}

async function countPets({ baseUrl }: Machine): Promise<number> {
  const { text } = await send(`${baseUrl}/pets`, { headers: { authorization } });
  return (JSON.parse(text) as unknown[]).length;
}

function succeed({ sh }: Machine, script: string): string {
  const { status, output } = sh(script);
  assert.equal(status, 0, output);
  return output;
}

/** This version, installed and not started. */
async function newInstallation(t: TestContext): Promise<Machine> {
  const machine = await newMachine(t);
  succeed(
    machine,
    `install -m 755 petstore-linux-x64 /usr/local/bin/petstore
     install -m 644 contrib/petstore*@.* /etc/systemd/system/
     mkdir -p /var/lib/petstore/production /var/lib/petstore-backup/production`,
  );
  return machine;
}

const START = 'systemctl start petstore@production';
test('the documented upgrade makes a backup, keeps the program before, and ends with a store that is verified', async (t) => {
  const machine = await newInstallation(t);
  succeed(machine, START);
  await create(machine);
  const output = succeed(machine, commandsBelow('running.md', '## Upgrade'));
  assert.match(output, /^ready\n[^\n]*animals: 1, last id: 1, problems: 0\.\n$/);
  const [backup = ''] = readdirSync(join(machine.root, 'var/lib/petstore-backup/production'));
  const downgrade = commandsBelow('running.md', '### Downgrade').replace('FILE', backup);
  assert.match(succeed(machine, downgrade), /^ready\n$/);
  assert.equal(await countPets(machine), 1);
});

test('systemctl start fails on a wrong setting', async (t) => {
  const machine = await newInstallation(t);
  writeFileSync(join(machine.root, 'etc/petstore/production.env'), "PETSTORE_RATE_LIMIT='often'\n");
  assert.equal(machine.sh(START).status, 1);
});

test('systemctl start fails if another program responds on the port', async (t) => {
  const machine = await newInstallation(t);
  const other = createServer((_, response) => response.end()).listen(0, '127.0.0.1');
  t.after(() => other.close());
  await once(other, 'listening');
  const { port } = other.address() as { port: number };
  writeFileSync(join(machine.root, 'etc/petstore/production.env'), `PETSTORE_PORT=${port}\n`);
  assert.equal(machine.sh(START).status, 1);
});

test('systemctl start succeeds while the database is away', async (t) => {
  const machine = await newInstallation(t);
  const url = `postgres://a:b@127.0.0.1:${await freePort()}/c`;
  writeFileSync(join(machine.root, 'etc/petstore/production.env'), `DATABASE_URL='${url}'\n`);
  assert.equal(machine.sh(START).status, 0);
  assert.equal(machine.sh('petstore health --live').status, 0);
  assert.equal(machine.sh('petstore health').status, 1);
});

test('systemctl start leaves a service alone that takes longer than its attempts', async (t) => {
  const machine = await newInstallation(t);
  const slow = '#!/bin/sh\n[ "$1" = serve ] && exec sleep 60\nexit 1\n';
  writeProgram(join(machine.root, 'usr/local/bin/petstore'), slow);
  assert.equal(machine.sh(START).status, 0);
  assert.equal(machine.sh('kill -0 "$(cat ../run/petstore@production.pid)"').status, 0);
});
