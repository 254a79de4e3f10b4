import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { flagsOf } from '../../harness/test-service.ts';
import { loadConfig } from '../config.ts';
import { newSecret } from '../domain/api-key.ts';
import { networkUrls } from '../listen.ts';
import type { Variables } from '../setting.ts';
import { openLog } from '../ops/log.ts';
import { announce, welcome } from './welcome.ts';

function hint(args: string[], variables: Variables = {}): string | undefined {
  const service = { baseUrl: 'http://a/v1', adminUrl: undefined, firstKey: undefined };
  return /make one: (.*)$/m.exec(welcome(loadConfig(flagsOf(args), variables), service))?.[1];
}

test('the command for a lost key has the settings that differ from the defaults, and no others', () => {
  const plain = 'petstore keys create --name NAME';
  assert.equal(hint(['--port', '0']), plain);
  assert.equal(hint(['--env', 'production', '--data', 'data/']), plain);
  assert.equal(hint([], { PETSTORE_ENV: 'staging' }), `${plain} --env staging`);
  assert.equal(hint([], { PETSTORE_DATA: '/srv/pets' }), `${plain} --data /srv/pets`);
  assert.equal(hint(['--data', "/my pets/it's"]), `${plain} --data '/my pets/it'\\''s'`);
});

test('the command for a lost key never shows the address of a database, which may hold a password', () => {
  const address = 'postgres://me:secret@db.example/pets';
  for (const words of [
    hint(['--database', address, '--env', 'staging', '--data', '/srv/pets']),
    hint(['--env', 'staging'], { DATABASE_URL: address }),
  ]) {
    assert.equal(
      words,
      'petstore keys create --name NAME --env staging, with the DATABASE_URL of this service',
    );
  }
});

/** What a start shows on both streams. */
function shown(isTTY: boolean, firstKey: string | undefined, variables: Variables = {}) {
  const written = { stdout: '', stderr: '', both: '' };
  const writer = (name: 'stdout' | 'stderr') => (text: string) => {
    written[name] += text;
    return (written.both += text);
  };
  const stdout = { write: writer('stdout') };
  const stderr = { isTTY, write: writer('stderr') };
  const config = loadConfig({ data: '/srv' }, variables);
  const service = { baseUrl: 'http://a/v10/v1', adminUrl: 'http://b', firstKey };
  const io = { env: variables, stdout, stderr };
  announce(config, service, { log: openLog('info', stderr), io });
  return written;
}

test('on a terminal a start shows each address once, and what to do with the first key', () => {
  const { stdout, stderr } = shown(true, 'pet_live_x');
  assert.equal(stdout, '');
  const [text, line] = stderr.split(/^(?=\d\d:)/m);
  assert.equal(
    text,
    `Pet Store (production) is ready at http://a/v10/v1

  Console  http://a/v10/
  Docs     http://a/v10/docs
  Monitor  http://b/
  Metrics  http://b/metrics
  Store    /srv/production/petstore.sqlite

  Open the console and paste this key. It is shown only this once:

    pet_live_x

`,
  );
  assert.match(line ?? '', / started [^\n]*environment=production\n$/);
  const addresses = stderr.match(/http:\S+/g) ?? [];
  assert.deepEqual(addresses, [...new Set(addresses)]);
});

test('elsewhere a start is one line of the log; another one before the first key says what it is', () => {
  const first = shown(false, 'pet_live_x');
  assert.equal(first.stdout, 'pet_live_x\n');
  const [label = '', key, ...after] = first.both.trimEnd().split('\n');
  assert.match(
    label,
    /"msg":"the first API key, shown only this once, is the line on standard out/,
  );
  assert.deepEqual([key, after.length], ['pet_live_x', 1]);
  const {
    createKey,
    console: page,
    store,
    ...line
  } = JSON.parse(after[0] ?? '') as Record<string, unknown>;
  assert.deepEqual([createKey, page], [undefined, 'http://a/v10/']);
  assert.deepEqual([line['msg'], store], ['started', '/srv/production/petstore.sqlite']);
  const later = shown(false, undefined);
  assert.equal(later.stdout, '');
  assert.match(later.stderr, /"createKey":"petstore keys create --name NAME --data \/srv"/);
  const secret = newSecret('production', randomBytes);
  const known = shown(false, secret, { PETSTORE_BOOTSTRAP_KEY: secret });
  assert.doesNotMatch(known.both, new RegExp(`${secret}|first API key`), 'the operator knows it');
});

test('a start without an admin port says that the metrics are off', () => {
  const service = { baseUrl: 'http://a/v1', adminUrl: undefined, firstKey: undefined };
  const metricsOf = (adminPort: string) =>
    /Metrics +(.*)$/m.exec(welcome(loadConfig({ 'admin-port': adminPort }, {}), service))?.[1];
  assert.equal(metricsOf('off'), 'off');
  assert.match(metricsOf('9464') ?? '', /^off: port 9464 is already in use/);
});

test('a start on every address shows those of this machine, and beyond loopback what keys over plain HTTP need', () => {
  const here = networkUrls('0.0.0.0', 80).map((url) => `${url}/`);
  const baseUrl = { PETSTORE_BASE_URL: 'https://pets.example/v1' };
  for (const [variables, urls, isWarned] of [
    [{}, [], false],
    [{ PETSTORE_HOST: '127.0.0.2' }, [], false],
    [{ PETSTORE_HOST: 'localhost' }, [], false],
    [{ PETSTORE_HOST: '0.0.0.0' }, here, true],
    [{ PETSTORE_HOST: '192.0.2.7' }, [], true],
    [{ PETSTORE_HOST: '0.0.0.0', ...baseUrl }, [], true],
  ] as [Variables, string[], boolean][]) {
    const text = shown(true, 'pet_live_x', variables).stderr;
    assert.deepEqual(
      [...text.matchAll(/^ {2}Network {2}(.*)$/gm)].map(([, url]) => url),
      urls,
    );
    assert.equal(/^ {2}API keys .* unencrypted: .* TLS .*\.$/m.test(text), isWarned);
    const logged = shown(false, 'pet_live_x', variables).stderr.trimEnd().split('\n');
    const lines = logged.map((line) => JSON.parse(line) as Record<string, unknown>);
    const { network } = lines.find(({ msg }) => msg === 'started') ?? {};
    assert.deepEqual(network, urls.length === 0 ? undefined : urls);
    const warnings = lines.filter(({ level }) => level === 'warn');
    assert.equal(warnings.length, isWarned ? 1 : 0);
    assert.equal(JSON.stringify(warnings).includes('unencrypted'), isWarned);
  }
});
