// The files in contrib/kubernetes against what the program, the image and the API of Kubernetes have. Their schema
// is checked by hand, with `kubectl kustomize` and `kubernetes-validate --strict`.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { loadConfig } from '../../src/config.ts';
import { healthPages } from '../../src/http/health.ts';
import { needsProgram } from '../../harness/needs.ts';

const REPOSITORY = dirname(dirname(import.meta.dirname));
const FOLDER = join(REPOSITORY, 'contrib', 'kubernetes');
/** How long the service completes its requests after the drain delay. */
const GRACE_SECONDS = 8;
const MARGIN_SECONDS = 5;

const file = (name: string) => readFileSync(join(FOLDER, name), 'utf8');
const page = readFileSync(join(REPOSITORY, 'docs/running.md'), 'utf8');
const containerfile = readFileSync(join(REPOSITORY, 'Containerfile'), 'utf8');
const deployment = file('deployment.yaml');
const all = globSync('*.yaml', { cwd: FOLDER });
const allText = all.map(file).join('\n');

/** The first group of each match. */
const found = (text: string, pattern: RegExp) =>
  [...text.matchAll(pattern)].map(([, one = '']) => one);

test('kustomization.yaml has every other file as a resource', () => {
  const resources = found(file('kustomization.yaml'), /^ {2}- (\S+\.yaml)$/gm);
  const others = all.filter((name) => name !== 'kustomization.yaml');
  assert.deepEqual(resources.toSorted(), others.toSorted());
  assert.match(deployment, /^ +image: petstore$/m);
  assert.match(file('kustomization.yaml'), /^ {2}- name: petstore$/m);
});

test('the ports of the pods are those of the program, and every other port names one of them', () => {
  const { port, adminPort } = loadConfig({}, {});
  const ports = [...deployment.matchAll(/- name: (\w+)\n +containerPort: (\d+)/g)];
  assert.deepEqual(
    ports.map(([, name, number]) => [name, Number(number)]),
    [
      ['http', port],
      ['admin', adminPort],
    ],
  );
  const used = found(allText, /(?:targetPort|port): ([a-z]\w*)$/gm);
  assert.deepEqual([...new Set(used)].toSorted(), ['admin', 'http']);
});

test('liveness asks the admin port and readiness the service port, both for a page that exists', () => {
  const paths = healthPages(async () => true).map(([path]) => path);
  const probes = [...deployment.matchAll(/(\w+)Probe:\n +httpGet:\n +path: (\S+)\n +port: (\w+)/g)];
  assert.deepEqual(
    probes.map(([, name, path, port]) => [name, path, port]),
    [
      ['liveness', '/livez', 'admin'],
      ['readiness', '/readyz', 'http'],
    ],
  );
  for (const [, , path = ''] of probes) assert.ok(paths.includes(path), path);
  assert.equal(valueOf('PETSTORE_ADMIN_HOST'), '0.0.0.0');
});

test('a pod has time for its drain delay and for its requests before it is killed', () => {
  const [grace] = found(deployment, /terminationGracePeriodSeconds: (\d+)/g);
  const { drainDelaySeconds } = loadConfig({ 'drain-delay': valueOf('PETSTORE_DRAIN_DELAY') }, {});
  assert.ok(drainDelaySeconds > 0);
  assert.ok(
    Number(grace) >= drainDelaySeconds + GRACE_SECONDS + MARGIN_SECONDS,
    `it has ${grace} s`,
  );
});

test('the variables that the program reads are not overwritten by the Service of the same name', () => {
  assert.match(deployment, /^ +enableServiceLinks: false$/m);
});

test('the pods run as the user of the image, with a read-only root, without a token, rights, unlimited memory or disk', () => {
  const [, user = '', group = ''] = /^USER (\d+):(\d+)$/m.exec(containerfile) ?? [];
  for (const line of [
    `runAsUser: ${user}`,
    `runAsGroup: ${group}`,
    'runAsNonRoot: true',
    'readOnlyRootFilesystem: true',
    'allowPrivilegeEscalation: false',
    'automountServiceAccountToken: false',
    'type: RuntimeDefault',
    '- ALL',
    'memory: 512Mi',
    'ephemeral-storage: 256Mi',
  ]) {
    assert.ok(deployment.includes(`${line}\n`), line);
  }
});

test('the pods may reach only the database, at the port of the document, and what finds its name', () => {
  const policy = file('network-policy.yaml');
  assert.match(policy, /policyTypes:\n {4}- Ingress\n {4}- Egress\n/);
  const [, egress = ''] = /^ {2}egress:\n(.*)/ms.exec(policy) ?? [];
  const [database] = found(page, /DATABASE_URL='postgres:\/\/[^:]+:[^@]+@[^:]+:(\d+)\//g);
  assert.deepEqual(found(egress, /- port: (\d+)/g), ['53', '53', database]);
});

test('the pods prefer different nodes and zones, and one node is enough', () => {
  assert.match(deployment, /podAntiAffinity:\n +preferredDuringScheduling/);
  assert.doesNotMatch(deployment, /requiredDuringScheduling|DoNotSchedule/);
  assert.deepEqual(found(deployment, /topologyKey: (\S+)$/gm), [
    'kubernetes.io/hostname',
    'topology.kubernetes.io/zone',
  ]);
});

test('the command of the document makes every key of the Secret that the pods require', () => {
  const references = [
    ...deployment.matchAll(/secretKeyRef:\n +name: (\w+)\n +key: (\w+)(\n +optional: true)?/g),
  ];
  const required = references.filter(([, , , optional]) => optional === undefined);
  assert.deepEqual(
    required.map(([, , key]) => key),
    found(page, /--from-literal=(\w+)=/g),
  );
  for (const [, name = '', key = ''] of references) {
    assert.ok(page.includes(`create secret generic ${name} `), name);
    assert.ok(page.includes(key), key);
  }
});

test('every selector finds the pods', () => {
  const labels = found(allText, /^ +(app\.kubernetes\.io\/\S+: \S+)$/gm);
  assert.deepEqual([...new Set(labels)], ['app.kubernetes.io/name: petstore']);
});

const skip = needsProgram('kubectl');

test('kubectl builds the files into one list', { skip }, () => {
  const built = spawnSync('kubectl', ['kustomize', FOLDER], { encoding: 'utf8' });
  assert.equal(built.status, 0, built.stderr);
  assert.deepEqual(found(built.stdout, /^kind: (\w+)$/gm).toSorted(), [
    'Deployment',
    'NetworkPolicy',
    'PodDisruptionBudget',
    'Service',
  ]);
  assert.match(built.stdout, /image: registry\.example\/petstore:\d/);
});

function valueOf(variable: string): string {
  const [value = ''] = found(deployment, new RegExp(`- name: ${variable}\\n +value: (\\S+)`, 'g'));
  return value.replaceAll("'", '');
}
