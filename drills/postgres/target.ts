import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { randomBytes } from 'node:crypto';
import { newApiKey, newSecret } from '../../src/domain/api-key.ts';
import { ERRORS, Refusal, type ErrorCode } from '../../src/domain/errors.ts';
import { newCursor } from '../../src/domain/page.ts';
import type { Pet } from '../../src/domain/pet.ts';
import type { Store } from '../../src/domain/store.ts';
import { openPostgresStore } from '../../src/storage/postgres/store.ts';

const LIMIT_MAX = 100;
const MAIN = new URL('../../bin/petstore.js', import.meta.url).pathname;

export type Catalogue = Pick<Store, 'createPet' | 'findPet' | 'listPets'>;

/** What a drill puts under load: the store itself, or a service in its own process over HTTP. */
export interface Target {
  catalogue: Catalogue;
  /** The key that the claims of creates belong to. */
  apiKeyId: string;
  /** Returns the violations of the target itself. */
  close(): Promise<string[]>;
}

export type OpenTarget = (url: string) => Promise<Target>;

export async function openStoreTarget(url: string): Promise<Target> {
  const store = await openPostgresStore(url);
  const secret = newSecret('staging', randomBytes);
  const { record } = newApiKey({ secret, name: 'drill', now: new Date(), randomBytes });
  await store.createApiKey(record);
  return {
    catalogue: store,
    apiKeyId: record.id,
    async close() {
      await store.close();
      return [];
    },
  };
}

export async function openHttpTarget(url: string): Promise<Target> {
  const data = await mkdtemp(join(tmpdir(), 'petstore-drill-'));
  const key = newSecret('production', randomBytes);
  const settings = { port: '0', 'admin-port': 'off', log: 'silent', data, database: url };
  const flags = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  const service = spawn(process.execPath, [MAIN, 'serve', ...flags], {
    env: { PETSTORE_BOOTSTRAP_KEY: key },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let baseUrl: string | undefined;
  const stderrLines: string[] = [];
  for await (const line of createInterface({ input: service.stderr })) {
    stderrLines.push(line);
    baseUrl = / is ready at (\S+)/.exec(line)?.[1];
    if (baseUrl !== undefined) break;
  }
  if (baseUrl === undefined)
    throw new Error(`the service did not start: ${stderrLines.join('\n')}`);
  return {
    catalogue: httpCatalogue(baseUrl, key),
    apiKeyId: 'unused: the service finds the id by the key',
    async close() {
      const hasEnded = service.exitCode !== null || service.signalCode !== null;
      if (!hasEnded) {
        service.kill('SIGTERM');
        await once(service, 'exit');
      }
      await rm(data, { recursive: true, force: true });
      return hasEnded ? ['the process of the service ended before it was stopped'] : [];
    },
  };
}

function httpCatalogue(baseUrl: string, key: string): Catalogue {
  const authorization = { Authorization: `Bearer ${key}` };
  return {
    async createPet(pet, claim) {
      const { name, categoryId, status } = pet;
      const response = await fetch(`${baseUrl}/pets`, {
        method: 'POST',
        headers: {
          ...authorization,
          'Content-Type': 'application/json',
          ...(claim && { 'Idempotency-Key': claim.key }),
        },
        body: JSON.stringify({ name, categoryId: Number(categoryId), status }),
      });
      const created = parsePet((await parseResponse(response, 201)) as WirePet);
      return { kind: 'created', pet: created };
    },
    async findPet(id) {
      const response = await fetch(`${baseUrl}/pets/${id}`, { headers: authorization });
      return parsePet((await parseResponse(response, 200)) as WirePet);
    },
    async listPets({ status, afterId }) {
      const cursor = newCursor(afterId, status);
      const address = `${baseUrl}/pets?limit=${LIMIT_MAX}&cursor=${cursor}`;
      const response = await fetch(address, { headers: authorization });
      return ((await parseResponse(response, 200)) as WirePet[]).map(parsePet);
    },
  };
}

/** The ids are numbers: a drill stores far fewer than 2^53 animals, so they are exact. */
type WirePet = Omit<Pet, 'id' | 'categoryId'> & { id: number; categoryId: number };

function parsePet({ id, categoryId, ...rest }: WirePet): Pet {
  return { ...rest, id: BigInt(id), categoryId: BigInt(categoryId) };
}

/** Returns the body, or throws: a Refusal for 503, which drills expect during a fault. */
async function parseResponse(response: Response, expected: number): Promise<unknown> {
  const body: unknown = await response.json();
  if (response.status === expected) return body;
  const { code } = body as { code: ErrorCode };
  if (response.status !== ERRORS.unavailable.status) throw new Error(`${response.status} ${code}`);
  throw new Refusal(code, 'over HTTP');
}
