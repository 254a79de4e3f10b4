// The files in contrib/ and of the container that no other test uses. test/faults/proxies.long.test.ts and
// test/faults/proxy-faults.long.test.ts have the proxies, test/project/kubernetes.unit.test.ts the rest of Kubernetes.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, globSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { COMMANDS } from '../../src/cli/commands.ts';
import { loadAll } from '../../src/cli/execute.ts';
import { SETTINGS } from '../../src/config.ts';
import { needsProgram } from '../../harness/needs.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';

const CONTRIB = join(dirname(dirname(import.meta.dirname)), 'contrib');
const REPOSITORY = dirname(CONTRIB);
const read = (name: string, folder = CONTRIB) => readFileSync(join(folder, name), 'utf8');

const UNITS = ['petstore@.service', 'petstore-backup@.service', 'petstore-backup@.timer'];
const KUBERNETES = globSync('kubernetes/*', { cwd: CONTRIB });
const SHIPPED = [
  'Containerfile',
  'compose.yaml',
  ...[...UNITS, ...KUBERNETES].map((name) => `contrib/${name}`),
];

test('each file in contrib/ names the command that checks it in its first lines', () => {
  const commands: Record<string, string> = {
    Caddyfile: 'caddy validate --config ',
    'haproxy.cfg': 'haproxy -c -f ',
    'nginx.conf': 'nginx -t',
    ...Object.fromEntries(KUBERNETES.map((name) => [name, 'kubectl apply --dry-run=server -k '])),
    ...Object.fromEntries(UNITS.map((name) => [name, 'systemd-analyze verify '])),
    'petstore.http': 'npm run unit:one -- test/interface/http-file.test.ts',
    'prometheus/rules.test.yml': 'promtool test rules ',
    'prometheus/rules.yml': 'promtool check rules ',
    'traces.env': 'npm run test:traces',
    'user/petstore.service': 'systemd-analyze verify --user ',
  };
  const files = readdirSync(CONTRIB, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(CONTRIB, join(parentPath, name)));
  // JSON has no comments. test/process/metrics.test.ts checks this file.
  const other = 'grafana/dashboard.json';
  assert.deepEqual(files.toSorted(), [...Object.keys(commands), other].toSorted());
  for (const [name, command] of Object.entries(commands)) {
    assert.ok(read(name).split('\n')[1]?.startsWith(`# Check it with: ${command}`), name);
  }
});

test('Containerfile, compose.yaml, README.md, the client library and the check have the version of the package', () => {
  const quickStart = 'src/web/docs/content/quick-start.md';
  const { version } = JSON.parse(read('package.json', REPOSITORY)) as { version: string };
  const kustomization = 'contrib/kubernetes/kustomization.yaml';
  for (const name of [
    'Containerfile',
    'compose.yaml',
    'README.md',
    'docs/running.md',
    'sdk/README.md',
    quickStart,
    kustomization,
  ]) {
    const named = read(name, REPOSITORY).matchAll(
      /petstore-(?:service|client)-(\d[\d.]*\d)\.tgz|petstore:(\d[\d.]*)|version="([^"]+)"|newTag: (\S+)/g,
    );
    const versions = [...named].map(([, ...groups]) => groups.find((each) => each !== undefined));
    assert.deepEqual([...new Set(versions)], [version], name);
  }
  for (const name of ['sdk/package.json', 'check/package.json']) {
    assert.equal((JSON.parse(read(name, REPOSITORY)) as { version: string }).version, version);
  }
});

test('each package installs what its build needs, also in a clone that was only started', () => {
  for (const name of ['package.json', 'sdk/package.json', 'check/package.json']) {
    const { scripts } = JSON.parse(read(name, REPOSITORY)) as { scripts: { prepack: string } };
    assert.match(scripts.prepack, /^node (?:\.\.\/)?scripts\/setup\.js /, name);
  }
});

test('each variable in the units, the container and the files for Kubernetes is a setting of the program', () => {
  const known = new Set([
    ...Object.values(SETTINGS).map(({ variable }) => variable),
    'PETSTORE_BOOTSTRAP_KEY',
  ]);
  for (const name of SHIPPED) {
    const variables = read(name, REPOSITORY).match(/\b(?:PETSTORE_[A-Z_]+|DATABASE_URL)\b/g) ?? [];
    for (const variable of variables) assert.ok(known.has(variable), `${name} has ${variable}`);
  }
});

test('each command in the units and the container exists, with its options', async () => {
  const { commands } = await loadAll(COMMANDS);
  const found = SHIPPED.flatMap((name) => commandLinesOf(read(name, REPOSITORY)));
  assert.deepEqual(
    new Set(found.map(([command]) => command)),
    new Set(['serve', 'health', 'backup', 'verify']),
  );
  for (const [name = '', ...words] of found) {
    const command = commands[name];
    assert.ok(command !== undefined && 'options' in command, name);
    for (const option of words.filter((word) => word.startsWith('--'))) {
      const names: string[] = [...Object.keys(command.options), ...Object.keys(command.switches)];
      assert.ok(names.includes(option.slice(2)), `petstore ${name} has no ${option}`);
    }
  }
});

/** What follows the program in ExecStart=, and in the lists of a container's health check and command. */
function commandLinesOf(text: string): string[][] {
  const units = [...text.matchAll(/^ExecStart=\/usr\/local\/bin\/petstore (.+)$/gm)];
  const lists = [...text.matchAll(/(?:CMD,? \[?"?petstore"?, |^CMD \[)([^\]]+)\]/gm)];
  return [
    ...units.map(([, words = '']) => words.split(' ')),
    ...lists.map(([, words = '']) => words.replaceAll('"', '').split(', ')),
  ];
}

test('the health check of a container is liveness, so that a database outage restarts none', () => {
  assert.match(
    read('Containerfile', REPOSITORY),
    /^HEALTHCHECK .*CMD \["petstore", "health", "--live"\]$/m,
  );
  assert.match(read('compose.yaml', REPOSITORY), /test: \[CMD, petstore, health, --live\]/);
});

test('the unit of the service comes back after every end but a wrong setting, and has no base URL', () => {
  const lines = read('petstore@.service').split('\n');
  for (const line of [
    'Restart=always',
    'RestartSec=2',
    'TimeoutStartSec=5min',
    'StartLimitIntervalSec=0',
    'RestartPreventExitStatus=2',
    'RequiresMountsFor=/var/lib/petstore/%i',
    'StateDirectory=petstore/%i',
    'Environment=PETSTORE_DATA=/var/lib/petstore',
    'Environment=PETSTORE_ENV=%i',
  ]) {
    assert.ok(lines.includes(line), line);
  }
  assert.ok(lines.every((line) => !line.startsWith('Environment=PETSTORE_BASE_URL')));
  // Liveness: a database that is away must not fail the start. test/long/systemd.test.ts runs the command.
  const [waiting = ''] = lines.filter((line) => line.startsWith('ExecStartPost='));
  assert.deepEqual(waiting.match(/petstore health [^ ]*/g), ['petstore health --live']);
});

/** One line each, and what happens without it. */
const NEEDED: [file: string, line: string, otherwise: string][] = [
  ['petstore@.service', 'TimeoutStopSec=15', 'requests that take up to 8 seconds are killed'],
  ['petstore-backup@.timer', 'Persistent=yes', 'a night without the machine has no backup'],
  ['nginx.conf', 'proxy_next_upstream error timeout;', 'a create is sent twice'],
  ['haproxy.cfg', 'http-request disable-l7-retry unless METH_GET', 'a create is sent twice'],
];

for (const [file, line, otherwise] of NEEDED) {
  test(`contrib/${file} has "${line}", otherwise ${otherwise}`, () => {
    const lines = read(file).split('\n');
    assert.equal(lines.filter((each) => each.trim() === line).length, 1);
  });
}

test('the backup has the user, the store and the settings of the service', () => {
  const sharedLines = (name: string) =>
    read(name).match(/^(?:User|Environment|EnvironmentFile|StateDirectoryMode|UMask)=.*$/gm);
  assert.deepEqual(sharedLines('petstore-backup@.service'), sharedLines('petstore@.service'));
  assert.match(
    read('petstore-backup@.service'),
    /^StateDirectory=petstore\/%i petstore-backup\/%i$/m,
  );
});

test('every unit of a service limits the memory, and a crash writes no dump of it', () => {
  for (const name of [...UNITS.slice(0, 2), 'user/petstore.service']) {
    assert.match(read(name), /^LimitCORE=0\n(?:# .*\n)*MemoryMax=512M$/m, name);
  }
});

const skip = needsProgram('systemd-analyze');

test(
  'systemd accepts the units, and finds those that run the program well protected',
  { skip },
  (t) => {
    const folder = temporaryFolder(t);
    const program = join(folder, 'petstore');
    copyFileSync('/bin/true', program);
    const units = UNITS.map((name) => {
      const unit = join(folder, name.replace('@', '@production'));
      // systemd also checks that the program exists.
      writeFileSync(unit, read(name).replaceAll('/usr/local/bin/petstore', program));
      return unit;
    });
    const verified = spawnSync('systemd-analyze', ['verify', ...units], { encoding: 'utf8' });
    assert.deepEqual([verified.status, verified.stderr], [0, '']);
    for (const unit of units.filter((each) => each.endsWith('.service'))) {
      const args = ['security', '--offline=true', '--no-pager', unit];
      const security = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
      const [, exposure = ''] = /exposure level for \S+: (\d+\.\d)/.exec(security.stdout) ?? [];
      assert.ok(exposure !== '' && Number(exposure) <= 1.5, `${unit} has the exposure ${exposure}`);
    }
  },
);
