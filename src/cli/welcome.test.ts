import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flagsOf } from '../../test/support/test-service.ts';
import { loadConfig } from '../config.ts';
import type { Variables } from '../setting.ts';
import { welcome } from './welcome.ts';

function hint(args: string[], variables: Variables = {}): string | undefined {
  const service = { baseUrl: 'http://a/v1', adminUrl: undefined, firstKey: undefined };
  return /make one: (.*)$/m.exec(
    welcome(loadConfig(flagsOf(args), variables), service, variables),
  )?.[1];
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
