import { environmentOfSecret, hashApiKey, stateOfKey, type ApiKey } from '../domain/api-key.ts';
import type { Clock } from '../domain/clock.ts';
import { Refusal } from '../domain/errors.ts';
import type { Environment } from '../domain/key-form.ts';
import type { KeyRing } from './key-ring.ts';
import type { HttpRequest } from './message.ts';

/** One scheme and one token. A repeated header arrives joined by a comma, which does not match. */
const BEARER = /^bearer +([\w.~+/-]+=*) *$/i;
const HOW = 'Send it as "Authorization: Bearer <API_KEY>".';

const KNOWN_HEADERS_MAX = 1_000;

/** What a request says about its key. */
type Credentials = Pick<HttpRequest, 'headers'>;
export type Authenticate = (request: Credentials) => Promise<ApiKey>;

/** Creates the check that every operation begins with: finds the key of the caller, or refuses the request. */
export function createAuthenticate(parts: {
  environment: Environment;
  keys: Pick<KeyRing, 'find'>;
  clock: Clock;
}): Authenticate {
  const { environment, keys, clock } = parts;
  // A client sends the same header with every request, so that it is parsed and hashed once. Only headers of keys that
  // exist are cached, so that nobody can fill the cache.
  const hashes = new Map<string | undefined, string>();

  return async function authenticate(request) {
    const { authorization } = request.headers;
    const hash = hashes.get(authorization) ?? hashApiKey(secretIn(request, environment));
    const found = keys.find(hash);
    const key = requireUsableKey(found instanceof Promise ? await found : found, clock);
    if (!hashes.has(authorization)) {
      if (hashes.size >= KNOWN_HEADERS_MAX) hashes.clear();
      hashes.set(authorization, hash);
    }
    return key;
  };
}

function requireUsableKey(key: ApiKey | undefined, clock: Clock): ApiKey {
  // Most keys have no expiry, and the clock need not be read for them.
  if (key !== undefined && key.revokedAt === undefined && key.expiresAt === undefined) return key;
  const state = key && stateOfKey(key, clock.now());
  if (state === 'expired') throw new Refusal('expired_api_key', 'The API key has expired.');
  if (key === undefined || state === 'revoked') {
    throw new Refusal('invalid_api_key', 'The API key is unknown or was revoked.');
  }
  return key;
}

/** Returns the key in the header. A malformed key is refused here, without a query. */
function secretIn({ headers }: Credentials, environment: Environment): string {
  const { authorization = '' } = headers;
  if (!/^bearer\b/i.test(authorization)) {
    throw new Refusal('missing_api_key', `An API key is required. ${HOW}`);
  }
  const secret = BEARER.exec(authorization)?.[1];
  if (secret === undefined) {
    throw new Refusal('invalid_api_key', `One key must follow the word Bearer. ${HOW}`);
  }
  const madeFor = environmentOfSecret(secret);
  if (madeFor === undefined) {
    throw new Refusal('invalid_api_key', 'The API key is malformed; was it copied completely?');
  }
  if (madeFor !== environment) {
    throw new Refusal('invalid_api_key', `This key is for ${madeFor}: use one for ${environment}.`);
  }
  return secret;
}
