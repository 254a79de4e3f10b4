// The files in contrib/ and of the container: what contrib.txt says that they must have, what the program and the
// documents have too, and whether their own programs accept them. test/faults/nginx.long.test.ts runs nginx.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, globSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { COMMANDS } from '../../src/cli/commands.ts';
import { loadAll } from '../../src/cli/execute.ts';
import { processVariables, SETTINGS } from '../../src/config.ts';
import { ERRORS, type ErrorBody } from '../../src/domain/errors.ts';
import { newCertificate } from '../../harness/certificate.ts';
import { findProgram, needsProgram } from '../../harness/needs.ts';
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

const linesOf = (text: string) =>
  text.split(/\n\s*/).filter((line) => line !== '' && !line.startsWith('#'));

/** contrib.txt: for each file its lines, some with `|` between, or after `!` a text that it must not have, and why. */
for (const section of read('contrib.txt', import.meta.dirname)
  .split(/^# /m)
  .slice(1)) {
  const [file = '', ...rows] = linesOf(section);
  test(`${file} has the lines that contrib.txt gives a reason for`, () => {
    const found = `\n${linesOf(read(file, REPOSITORY)).join('\n')}\n`;
    for (const row of rows) {
      const [, sign, text = ''] = /^(! )?(.+) -- .+$/.exec(row) ?? [];
      const lines = `\n${text.replaceAll(' | ', '\n')}\n`;
      assert.ok(sign === undefined ? found.includes(lines) : !found.includes(text), row);
    }
  });
}

for (const name of ['nginx.conf', 'haproxy.cfg', 'Caddyfile']) {
  test(`each body that contrib/${name} has for an error is an Error of the service`, () => {
    const bodies = read(name).match(/\{"code":.*?\}(?=['`])/g) ?? [];
    assert.ok(bodies.length > 0);
    for (const body of bodies) {
      const { code, message, status, ...others } = JSON.parse(body) as ErrorBody;
      assert.equal(status, (ERRORS as Record<string, { status: number }>)[code]?.status, body);
      assert.deepEqual([typeof message, others], ['string', {}]);
    }
  });
}

test('the backup has the user, the store and the settings of the service', () => {
  const shared = /^(?:User|Environment|EnvironmentFile|StateDirectoryMode|UMask)=.*$/gm;
  assert.deepEqual(
    read('petstore-backup@.service').match(shared),
    read('petstore@.service').match(shared),
  );
});

const KUBERNETES_TEXT = KUBERNETES.map((name) => read(name)).join('\n');
const firstGroups = (text: string, pattern: RegExp) =>
  [...text.matchAll(pattern)].map(([, group = '']) => group);

test('kustomization.yaml has every other file as a resource, and every selector finds the pods', () => {
  const resources = firstGroups(KUBERNETES_TEXT, /^ {2}- (\S+\.yaml)$/gm);
  const files = KUBERNETES.map((name) => basename(name));
  assert.deepEqual([...resources, 'kustomization.yaml'].toSorted(), files.toSorted());
  const labels = firstGroups(KUBERNETES_TEXT, /^ +(app\.kubernetes\.io\/\S+: \S+)$/gm);
  assert.deepEqual(new Set(labels), new Set(['app.kubernetes.io/name: petstore']));
});

test('the pods may reach only the database, at the port of the document, and what finds its name', () => {
  const page = read('docs/running.md', REPOSITORY);
  const [database] = firstGroups(page, /DATABASE_URL='postgres:\/\/[^:]+:[^@]+@[^:]+:(\d+)\//g);
  const [, egress = ''] = read('kubernetes/network-policy.yaml').split('\n  egress:\n');
  assert.deepEqual(firstGroups(egress, /- port: (\S+)/g), ['53', '53', database]);
});

test('the command of the document makes every key of the Secret that the pods require', () => {
  const page = read('docs/running.md', REPOSITORY);
  const pattern = /secretKeyRef:\n +name: petstore\n +key: (\w+)$(?!\n +optional: true)/gm;
  assert.deepEqual(
    firstGroups(KUBERNETES_TEXT, pattern),
    firstGroups(page, /--from-literal=(\w+)=/g),
  );
  assert.match(page, /create secret generic petstore /);
});

/** What a program says of a file, and the file without what only other machines have. */
const PROGRAMS: [program: string, name: string, args: string[], missing: RegExp][] = [
  ['haproxy', 'haproxy.cfg', ['-c', '-f'], /^ +(?:user|group) .*\n/gm],
  ['caddy', 'Caddyfile', ['validate', '--adapter', 'caddyfile', '--config'], /^$/g],
];

for (const [program, name, args, missing] of PROGRAMS) {
  test(`${program} accepts contrib/${name}`, { skip: needsProgram(program) }, (t) => {
    const folder = temporaryFolder(t);
    const { certificate, key } = newCertificate();
    writeFileSync(join(folder, 'pem'), certificate + key);
    const text = read(name).replaceAll(missing, '');
    const file = join(folder, name);
    writeFileSync(file, text.replace('/etc/ssl/petstore/pets.example.pem', join(folder, 'pem')));
    const env = { ...processVariables, HOME: folder };
    const { status, stderr } = spawnSync(findProgram(program) ?? '', [...args, file], { env });
    assert.equal(status, 0, String(stderr));
  });
}

test('kubectl builds the files into one list', { skip: needsProgram('kubectl') }, () => {
  const folder = join(CONTRIB, 'kubernetes');
  const built = spawnSync('kubectl', ['kustomize', folder], { encoding: 'utf8' });
  assert.equal(built.status, 0, built.stderr);
  assert.deepEqual(firstGroups(built.stdout, /^kind: (\w+)$/gm).toSorted(), [
    'Deployment',
    'NetworkPolicy',
    'PodDisruptionBudget',
    'Service',
  ]);
  assert.match(built.stdout, /image: registry\.example\/petstore:\d/);
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
