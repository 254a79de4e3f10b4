// The files in contrib/ that no other test uses. test/proxies.test.ts has the proxies.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from './test-process.ts';

const CONTRIB = join(dirname(import.meta.dirname), 'contrib');
const REPOSITORY = dirname(CONTRIB);
const read = (name: string, folder = CONTRIB) => readFileSync(join(folder, name), 'utf8');

test('each file in contrib/ names the command that checks it in its first lines', () => {
  const commands: Record<string, string> = {
    Caddyfile: 'caddy validate --config ',
    'haproxy.cfg': 'haproxy -c -f ',
    'nginx.conf': 'nginx -t',
    'petstore.service': 'systemd-analyze verify ',
    'prometheus/rules.test.yml': 'promtool test rules ',
    'prometheus/rules.yml': 'promtool check rules ',
    'traces.env': 'npm run test:traces',
  };
  const files = readdirSync(CONTRIB, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(CONTRIB, join(parentPath, name)));
  // JSON has no comments. test/metrics.test.ts checks this file.
  const other = 'grafana/dashboard.json';
  assert.deepEqual(files.toSorted(), [...Object.keys(commands), other].toSorted());
  for (const [name, command] of Object.entries(commands)) {
    assert.ok(read(name).split('\n')[1]?.startsWith(`# Check it with: ${command}`), name);
  }
});

test('Containerfile, compose.yaml, README.md and the client library have the version of the package', () => {
  const quickStart = 'src/web/docs/content/quick-start.md';
  const { version } = JSON.parse(read('package.json', REPOSITORY)) as { version: string };
  for (const name of ['Containerfile', 'compose.yaml', 'README.md', 'sdk/README.md', quickStart]) {
    const named = read(name, REPOSITORY).matchAll(
      /petstore-(?:service|client)-(\d[\d.]*\d)\.tgz|petstore:(\d[\d.]*)|version="([^"]+)"/g,
    );
    const versions = [...named].map(([, file, image, label]) => file ?? image ?? label);
    assert.deepEqual([...new Set(versions)], [version], name);
  }
  assert.equal(
    (JSON.parse(read('sdk/package.json', REPOSITORY)) as { version: string }).version,
    version,
  );
});

test('the health check of a container is liveness, so that a database outage restarts none', () => {
  assert.match(
    read('Containerfile', REPOSITORY),
    /^HEALTHCHECK .*CMD \["petstore", "health", "--live"\]$/m,
  );
  assert.match(read('compose.yaml', REPOSITORY), /test: \[CMD, petstore, health, --live\]/);
});

const { error } = spawnSync('systemd-analyze', ['--version']);
const skip = error === undefined ? false : 'systemd is not installed';

test('systemd accepts the unit, and finds it well protected', { skip }, (t) => {
  const folder = temporaryFolder(t);
  const program = join(folder, 'petstore');
  copyFileSync('/bin/true', program);
  const unit = join(folder, 'petstore.service');
  const text = read('petstore.service');
  assert.match(text, /^ExecStart=\/usr\/local\/bin\/petstore serve$/m);
  // systemd also checks that the program exists.
  writeFileSync(unit, text.replace('ExecStart=/usr/local/bin/petstore', `ExecStart=${program}`));
  const verified = spawnSync('systemd-analyze', ['verify', unit], { encoding: 'utf8' });
  assert.deepEqual([verified.status, verified.stderr], [0, '']);
  const args = ['security', '--offline=true', '--no-pager', unit];
  const security = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
  const [, exposure = ''] = /exposure level for \S+: (\d+\.\d)/.exec(security.stdout) ?? [];
  assert.ok(exposure !== '' && Number(exposure) < 2, `the exposure is ${exposure}`);
});
