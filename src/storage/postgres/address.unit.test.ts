import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StoreUnusable } from '../../domain/store.ts';
import { parseAddress } from './address.ts';

test('an address names user, password, hosts and database', () => {
  const address = parseAddress('postgres://ann:se%20cr%3Aet@one:5433,two,[::1]:6000/pet%2Fs');
  assert.deepEqual(address, {
    hosts: [
      { host: 'one', port: 5433 },
      { host: 'two', port: 5432 },
      { host: '::1', port: 6000 },
    ],
    user: 'ann',
    password: 'se cr:et',
    database: 'pet/s',
    tls: false,
    shown: 'postgres://one:5433,two:5432,::1:6000/pet/s',
  });
});

test('user and password may be left out, and postgresql:// is the same', () => {
  const { user, password, hosts } = parseAddress('postgresql://localhost/pets');
  assert.deepEqual([user, password, hosts[0]?.host], [undefined, undefined, 'localhost']);
});

test('a port is from 1 to 65535, and the name of a database may be one letter', () => {
  const { hosts, database } = parseAddress('postgres://one:1,two:65535/p');
  assert.deepEqual([hosts.map(({ port }) => port), database], [[1, 65_535], 'p']);
});

test('sslmode chooses between plain text, encryption, and encryption with a checked certificate', () => {
  assert.equal(tlsOf('sslmode=disable'), false);
  assert.deepEqual(tlsOf('sslmode=require'), { rejectUnauthorized: false });
  assert.deepEqual(tlsOf('sslmode=verify-full'), {});
  const trusted = encodeURIComponent(import.meta.filename);
  const checked = tlsOf(`sslmode=verify-ca&sslrootcert=${trusted}`);
  assert.ok(checked !== false && typeof checked.ca === 'string');
  assert.notEqual(checked.rejectUnauthorized, false);
});

test('an invalid address is refused in one line, without its password', () => {
  for (const url of [
    'mysql://ann:secret@host/pets',
    'postgres://ann:secret@host',
    'postgres://ann:secret@host/',
    'postgres://ann:secret@host:0/pets',
    'postgres://ann:secret@host:65536/pets',
    'postgres://ann:secret@host:port/pets',
    'postgres://ann:secret@::1/pets',
    'postgres://ann:secret@host/pets/more',
    'jdbc:postgres://ann:secret@host/pets',
    'postgres://ann:secret@host,,other/pets',
    'postgres://ann:secret%@host/pets',
    'postgres://ann:secret@host/pets?sslmode=prefer',
    'postgres://ann:secret@host/pets?sslmode=verify-ca',
    'postgres://ann:secret@host/pets?sslmode=verify-full&sslrootcert=/no/such/file',
    'postgres://ann:secret@host/pets?pgbouncer=true',
  ]) {
    assert.throws(
      () => parseAddress(url),
      (error: unknown) =>
        error instanceof StoreUnusable &&
        !error.message.includes('secret') &&
        !error.message.includes('\n'),
      url,
    );
  }
});

function tlsOf(parameters: string) {
  return parseAddress(`postgres://host/pets?${parameters}`).tls;
}
