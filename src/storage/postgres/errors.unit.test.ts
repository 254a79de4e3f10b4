import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DatabaseError } from 'pg';
import { Refusal } from '../../domain/errors.ts';
import { parseAddress } from './address.ts';
import {
  faultOf,
  isWrongSetting,
  NoHost,
  NoResponse,
  NotSent,
  readOnlyHost,
  stateOf,
  UnusableHost,
  withRetries,
  withRetriesOfWrite,
  type Fault,
} from './errors.ts';

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
  ['ECONNRESET', 'closed after CERT_HAS_EXPIRED, ERR_SSL_CLOSED or UNABLE_TO_VERIFY'],
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
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'wrong version number'],
  ['', 'SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string'],
  ['', 'The server does not support SSL connections'],
];

function errorOf([code, message]: [string, string]): Error {
  return Object.assign(new Error(message), { code });
}

test('a wrong setting is told from a database that may be there later', () => {
  for (const each of AWAY) assert.equal(isWrongSetting(errorOf(each)), false, each.join(' '));
  for (const each of WRONG) assert.equal(isWrongSetting(errorOf(each)), true, each.join(' '));
  assert.equal(isWrongSetting(readOnlyHost(true)), false, 'a standby may be promoted');
  assert.equal(
    isWrongSetting(new UnusableHost('is a pooler whose connections share sessions')),
    true,
  );
});

/** An error that PostgreSQL itself reports. */
function ofServer(code: string, message = 'of the server'): DatabaseError {
  return Object.assign(new DatabaseError(message, 0, 'error'), { code });
}

test('a failed statement is sent again only if it has changed nothing and may succeed', () => {
  const faults: [error: Error, fault: Fault][] = [
    [ofServer('40001'), 'repeatable'],
    [ofServer('40P01'), 'repeatable'],
    [ofServer('25006'), 'stale_session'],
    [ofServer('0A000'), 'stale_session'],
    [ofServer('26000'), 'stale_session'],
    ...['57P01', '57P02', '57P03', '57P05'].map((state): [Error, Fault] => [
      ofServer(state),
      'unknown',
    ]),
    [ofServer('08006'), 'unknown'],
    [ofServer('22008'), 'refused'],
    [ofServer('23505'), 'refused'],
    [new NoResponse('no response in time'), 'unknown'],
    [new NotSent('no connection in time'), 'refused'],
  ];
  for (const [error, fault] of faults) assert.equal(faultOf(error), fault, String(stateOf(error)));
});

/** How often a statement is sent that always fails with this error. */
async function sends(error: Error, mayRetry?: (fault: Fault) => boolean): Promise<number> {
  let count = 0;
  const send = () => {
    count += 1;
    return Promise.reject(error);
  };
  await assert.rejects(
    withRetries(send, mayRetry),
    (reason: unknown) => reason instanceof Refusal && reason.cause === error,
  );
  return count;
}

test('what may be sent again is sent five times at most, and then refused with its cause', async () => {
  assert.equal(await sends(ofServer('40001')), 5);
  assert.equal(await sends(ofServer('25006')), 5);
  assert.equal(await sends(ofServer('23505')), 1);
  assert.equal(await sends(new NoResponse('no response in time')), 1);
  assert.equal(await sends(new NoResponse('no response in time'), () => true), 5);
});

const sendToFullDisk = () => Promise.reject(ofServer('53100'));

test('a full disk is told apart only where a write failed', async () => {
  await assert.rejects(withRetries(sendToFullDisk), {
    message: 'The store is not available right now; try again shortly.',
  });
  await assert.rejects(withRetriesOfWrite(sendToFullDisk), {
    message: 'The store cannot take new animals or changes at the moment.',
  });
});

const REASONS: [error: Error, reason: string][] = [
  [new UnusableHost('is a pooler'), 'db:5432 is a pooler'],
  [new NotSent('was replaced by another host'), 'db:5432 was replaced by another host'],
  [ofServer('25006'), 'db:5432 is read-only (a standby): '],
  [ofServer('28P01'), 'db:5432 does not let the user in (of the server): '],
  [ofServer('28000'), 'db:5432 does not let the user in (of the server): '],
  [ofServer('3D000'), 'db:5432 has no database pets: '],
  [ofServer('53300'), 'db:5432 has no free connection (of the server): '],
  [
    ofServer('08P01', 'query_wait_timeout'),
    'db:5432 has no free connection (query_wait_timeout): ',
  ],
  [ofServer('XX000'), 'db:5432 responds with "of the server" (XX000)'],
  [errorOf(['ENOTFOUND', '']), 'the host db is not known: '],
  [errorOf(['EAI_AGAIN', '']), 'the host db is not known: '],
  [errorOf(['ECONNREFUSED', '']), 'connection refused at db:5432: '],
  [errorOf(['', 'client password must be a string']), 'db:5432 needs a password for the user: '],
  [errorOf(['', 'The server does not support SSL connections']), 'db:5432 does not offer TLS: '],
  [errorOf(['DEPTH_ZERO_SELF_SIGNED_CERT', 'x']), 'db:5432 has a certificate of an unknown '],
  [errorOf(['UNABLE_TO_GET_ISSUER_CERT', 'x']), 'db:5432 has a certificate of an unknown '],
  [errorOf(['CERT_HAS_EXPIRED', 'x']), 'db:5432 does not respond as PostgreSQL does (x): '],
  [errorOf(['ETIMEDOUT', 'connect ETIMEDOUT']), 'db:5432 gives no response in time: '],
  [errorOf(['', 'timeout expired']), 'db:5432 gives no response in time: '],
  [new NoResponse('no response in time'), 'db:5432 gives no response in time: '],
  [errorOf(['ECONNRESET', 'read']), 'db:5432 does not respond as PostgreSQL does (read): '],
];

test('each host that cannot be used is named with its reason', () => {
  const address = parseAddress('postgres://db/pets');
  for (const [error, reason] of REASONS) {
    const { message } = new NoHost(new Map(address.hosts.map((host) => [host, error])), address);
    assert.ok(message.startsWith(reason), message);
  }
});

test('of several hosts, the cause is a wrong setting, or else the fault of the last', () => {
  const address = parseAddress('postgres://ann@one,two,three/pets');
  const [away, wrong] = [errorOf(['ECONNREFUSED', '']), ofServer('28P01')];
  const standby = readOnlyHost(true);
  const noHost = (...errors: Error[]) => {
    const faults = address.hosts.map((host, index) => [host, errors[index]] as const);
    return new NoHost(new Map(faults), address);
  };
  const { message, cause } = noHost(wrong, away, standby);
  assert.match(
    message,
    /^one:5432 does not let the user ann in .*; connection refused at two:5432: .*; three:5432 is /,
  );
  assert.equal(cause, wrong);
  assert.equal(noHost(away, away, standby).cause, standby);
});
