import { randomBytes } from 'node:crypto';
import { newApiKey, newSecret } from '../../src/domain/api-key.ts';
import { ERRORS, Refusal, type ErrorCode } from '../../src/domain/errors.ts';
import { petJson } from '../../src/domain/json.ts';
import { newCursor } from '../../src/domain/page.ts';
import type { Pet } from '../../src/domain/pet.ts';
import type { Store } from '../../src/domain/store.ts';
import { openPostgresStore } from '../../src/storage/postgres/store.ts';
import { ServiceProcess } from '../service-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const LIMIT_MAX = 100;
const FORGOTTEN_EVERY = 20n;

export type Catalogue = Pick<Store, 'createPet' | 'findPet' | 'listPetJson'>;

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
  const record = newApiKey({ secret, name: 'drill', now: new Date(), randomBytes });
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

/** The control of the drills: a store that does not store every create it acknowledges. */
export async function openForgetfulTarget(url: string): Promise<Target> {
  const target = await openStoreTarget(url);
  let creates = 0n;
  return {
    ...target,
    catalogue: {
      findPet: (id) => target.catalogue.findPet(id),
      listPetJson: (query) => target.catalogue.listPetJson(query),
      async createPet(pet, claim) {
        creates += 1n;
        if (creates % FORGOTTEN_EVERY !== 0n) return target.catalogue.createPet(pet, claim);
        return { kind: 'created', pet: { ...pet, id: -creates } };
      },
    },
  };
}

export async function openHttpTarget(url: string): Promise<Target> {
  const folder = await temporaryFolder();
  const key = newSecret('production', randomBytes);
  const flags = ['--log', 'silent', '--data', folder.path, '--database', url];
  const service = await ServiceProcess.start(flags, key);
  return {
    catalogue: httpCatalogue(service.baseUrl, key),
    apiKeyId: 'unused: the service finds the id by the key',
    async close() {
      const violations = await service.stop();
      await folder[Symbol.asyncDispose]();
      return violations;
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
    async listPetJson({ status, afterId }) {
      const cursor = newCursor(afterId, status);
      const address = `${baseUrl}/pets?limit=${LIMIT_MAX}&cursor=${cursor}`;
      const response = await fetch(address, { headers: authorization });
      const pets = ((await parseResponse(response, 200)) as WirePet[]).map(parsePet);
      return pets.map((pet) => [pet.id, petJson(pet)]);
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
