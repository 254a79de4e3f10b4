import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isWrongSetting, readOnlyHost, UnusableHost } from './errors.ts';

/** What a start waits for, as the server, the driver and Node.js report it. */
const AWAY: [code: string, message: string][] = [
  ['ECONNREFUSED', 'connect ECONNREFUSED 127.0.0.1:5432'],
  ['ETIMEDOUT', 'connect ETIMEDOUT 192.0.2.1:5432'],
  ['EHOSTUNREACH', 'connect EHOSTUNREACH 192.0.2.1:5432'],
  ['ENOTFOUND', 'getaddrinfo ENOTFOUND db.example'],
  ['EAI_AGAIN', 'getaddrinfo EAI_AGAIN db.example'],
  ['ECONNRESET', 'read ECONNRESET'],
  ['', 'timeout expired'],
  ['', 'Connection terminated unexpectedly'],
  ['', 'There was an error establishing an SSL connection'],
  ['53300', 'sorry, too many clients already'],
  ['57P03', 'the database system is starting up'],
  ['57P01', 'terminating connection due to administrator command'],
  ['25006', 'cannot execute UPDATE in a read-only transaction'],
  ['42P07', 'relation "petstore_schema" already exists'],
  ['42710', 'type "petstore_schema" already exists'],
  ['55P03', 'canceling statement due to lock timeout'],
  ['08P01', 'no more connections allowed (max_client_conn)'],
];

const WRONG: [code: string, message: string][] = [
  ['28P01', 'password authentication failed for user "petstore"'],
  ['28000', 'role "petstore" is not permitted to log in'],
  ['3D000', 'database "pets" does not exist'],
  ['42501', 'permission denied for schema public'],
  ['0A000', 'unsupported frontend protocol'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'self-signed certificate'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'unable to verify the first certificate'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'Hostname/IP does not match certificate'],
  ['CERT_HAS_EXPIRED', 'certificate has expired'],
  ['', 'SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string'],
  ['', 'The server does not support SSL connections'],
];

function errorOf([code, message]: [string, string]): Error {
  return Object.assign(new Error(message), { code });
}

test('a wrong setting is told from a database that may be there later', () => {
  for (const each of AWAY) assert.equal(isWrongSetting(errorOf(each)), false, each.join(' '));
  for (const each of WRONG) assert.equal(isWrongSetting(errorOf(each)), true, each.join(' '));
  assert.equal(isWrongSetting(readOnlyHost()), false, 'a standby may be promoted');
  assert.equal(
    isWrongSetting(new UnusableHost('is a pooler whose connections share sessions')),
    true,
  );
});
