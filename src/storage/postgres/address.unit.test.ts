import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StoreUnusable } from '../../domain/store.ts';
import { parseAddress } from './address.ts';

test('an address names user, password, hosts and database', () => {
  const address = parseAddress('postgres://ann:se%20c%3Ar:et@one:5433,two,[::1]:6000/pet%2Fs');
  assert.deepEqual(address, {
    hosts: [
      { host: 'one', port: 5433 },
      { host: 'two', port: 5432 },
      { host: '::1', port: 6000 },
    ],
    options: {
      user: 'ann',
      password: 'se c:r:et',
      database: 'pet/s',
      ssl: false,
      application_name: 'petstore',
      enableChannelBinding: false,
    },
    shown: 'postgres://one:5433,two:5432,::1:6000/pet/s',
    isPlainByDefault: true,
  });
});

test('user and password may be left out, and postgresql:// is the same', () => {
  const { options, hosts } = parseAddress('postgresql://localhost/pets');
  const { user, password } = options;
  assert.deepEqual([user, password, hosts[0]?.host], [undefined, undefined, 'localhost']);
});

test('a port is from 1 to 65535, and the name of a database may be one letter', () => {
  const { hosts, options } = parseAddress('postgres://one:1,two:65535/p');
  assert.deepEqual([hosts.map(({ port }) => port), options.database], [[1, 65_535], 'p']);
});

test('sslmode chooses between plain text, encryption, and encryption with a checked certificate', () => {
  assert.equal(tlsOf('sslmode=disable'), false);
  assert.deepEqual(tlsOf('sslmode=require'), { rejectUnauthorized: false });
  assert.deepEqual(tlsOf('sslmode=verify-full'), {});
  assert.equal(tlsOf(''), false);
  const trusted = encodeURIComponent(import.meta.filename);
  const checked = tlsOf(`sslmode=verify-ca&sslrootcert=${trusted}`);
  assert.ok(typeof checked === 'object' && typeof checked.ca === 'string');
  assert.notEqual(checked.rejectUnauthorized, false);
  // Naming a certificate to trust asks for it to be checked.
  const named = tlsOf(`sslrootcert=${trusted}`);
  assert.ok(typeof named === 'object' && typeof named.ca === 'string');
  assert.deepEqual([named.rejectUnauthorized, named.checkServerIdentity], [undefined, undefined]);
});

test('plain text to another machine that nobody has chosen is told from one that was', () => {
  for (const host of ['db.example', '10.0.0.5', 'localhost,db.example', 'localhost.example']) {
    assert.equal(isPlain(`postgres://${host}/pets`), true, host);
    assert.equal(isPlain(`postgres://${host}/pets?sslmode=disable`), false, host);
    assert.equal(isPlain(`postgres://${host}/pets?sslmode=require`), false, host);
  }
  for (const host of ['localhost', '127.0.0.1', '127.1.2.3:6000', '[::1]', 'localhost,[::1]']) {
    assert.equal(isPlain(`postgres://${host}/pets`), false, host);
  }
});

test('a URL with parameters of psql and pg_dump is accepted', () => {
  const { options } = parseAddress(
    'postgres://host/pets?target_session_attrs=read-write&connect_timeout=5&application_name=shop%201&channel_binding=require',
  );
  assert.equal(options.application_name, 'shop 1');
  assert.equal(options.enableChannelBinding, true);
});

test('an unencoded @, / or % in a user or password is refused with its encoding, and not repeated', () => {
  for (const url of [
    'postgres://ann:my@secret@host/pets',
    'postgres://my@secret:word@host/pets',
    'postgres://ann:my/secret@host/pets',
    'postgres://ann:my?secret@host/pets',
    'postgres://ann:my#secret@host/pets',
    'postgres://ann:my?secret=a@host/pets',
    'postgres://ann:@/my?secret@host/pets',
    'postgres://ann:%secret@host/pets',
    'postgres://ann:secret/pets',
  ]) {
    assert.throws(
      () => parseAddress(url),
      ({ message }: Error) =>
        message.includes('write @ as %40, / as %2F and % as %25') && !message.includes('secret'),
      url,
    );
  }
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
    'postgres://ann:se cret@host/pets',
    'postgres://ann:secret@host/pets?sslmode=prefer',
    'postgres://host/pets?sslmode=secret',
    // Cut before its @.
    'postgres://ann:12/3?secret',
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

function isPlain(url: string): boolean {
  return parseAddress(url).isPlainByDefault;
}

function tlsOf(parameters: string) {
  return parseAddress(`postgres://host/pets?${parameters}`).options.ssl;
}
