import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import manifest from '../package.json' with { type: 'json' };
import { newCursor } from '../src/domain/page.ts';
import type { Operation, Recipe } from './contender.ts';
import type { Load } from './generator.ts';

/** The heap settings of the service. Every contender on Node.js gets them, and every command. */
export const NODE_FLAGS = manifest.scripts.start.match(/--\S+/g) ?? [];
const node = [process.execPath, ...NODE_FLAGS];

export const ANIMAL_COUNT = 1_000;
/** Those of the comparison by cursor. */
export const CURSOR_ANIMAL_COUNT = 100_000;
/** More pages than the service caches, so that no request finds its page in the cache. */
const CURSOR_PAGES = 60_000;
const NEW_PET = '{"name":"Rex","categoryId":7,"status":"available"}';
const PASSWORD = 'a-password-for-benchmarks';

/** The requests in the interface of the service, which most contenders have too. */
function petLoad(key: string, cursorPath = (afterId: number) => `/v1/pets?after=${afterId}`) {
  const headers = { Authorization: `Bearer ${key}` };
  const loads: Record<Operation, () => Load> = {
    list: () => ({ method: 'GET', paths: ['/v1/pets'], headers }),
    cursor: () => ({ method: 'GET', paths: cursorIds().map(cursorPath), headers }),
    get: () => ({ method: 'GET', paths: animalIds().map((id) => `/v1/pets/${id}`), headers }),
    create: () => creation('/v1/pets', headers),
  };
  return (operation: Operation) => loads[operation]();
}

function creation(path: string, headers: Record<string, string> = {}): Load {
  const typed = { ...headers, 'Content-Type': 'application/json' };
  return { method: 'POST', paths: [path], body: NEW_PET, headers: typed };
}

function animalIds(): number[] {
  return Array.from({ length: ANIMAL_COUNT }, (_, index) => index + 1);
}

function cursorIds(): number[] {
  const lastStart = CURSOR_ANIMAL_COUNT - 100;
  return Array.from({ length: CURSOR_PAGES }, (_, index) => (index * 7_919) % lastStart);
}

/** The service as `npm start` starts it, with the default settings for keys, validation, metrics and log. */
export function petstore(
  key: string,
  dataFolder: string,
  settings: readonly string[] = [],
): Recipe {
  return {
    name: 'petstore',
    command: (port) => [
      ...node,
      join(import.meta.dirname, '../bin/petstore.js'),
      'serve',
      '--port',
      String(port),
      '--admin-port',
      '0',
      '--data',
      dataFolder,
      ...settings,
    ],
    load: petLoad(key, (id) => `/v1/pets?cursor=${newCursor(BigInt(id), undefined)}`),
  };
}

/** A contender of the folder `contenders`, which takes the port and one more argument. */
export function ownContender(
  key: string,
  parts: { name: string; script: string; argument: string; isTuned?: boolean },
): Recipe {
  const { name, script, argument, isTuned = false } = parts;
  const more = isTuned ? ['tuned'] : [];
  return {
    name,
    command: (port) => [
      ...node,
      join(import.meta.dirname, 'contenders', script),
      String(port),
      argument,
      ...more,
    ],
    load: petLoad(key),
  };
}

export function goContender(key: string, program: string, name: string, database: string): Recipe {
  return { name, command: (port) => [program, String(port), database], load: petLoad(key) };
}

export function jsonServer(databaseFile: string): Recipe {
  const loads: Partial<Record<Operation, Load>> = {
    list: { method: 'GET', paths: ['/pets?_limit=20'] },
    get: { method: 'GET', paths: animalIds().map((id) => `/pets/${id}`) },
    create: creation('/pets'),
  };
  return {
    name: 'json-server',
    command: (port) => [
      ...node,
      join(import.meta.dirname, '../node_modules/json-server/lib/cli/bin.js'),
      '--quiet',
      '--port',
      String(port),
      '--host',
      '127.0.0.1',
      databaseFile,
    ],
    load: (operation) => requireLoad(loads[operation]),
  };
}

function requireLoad(load: Load | undefined): Load {
  if (load === undefined) throw new Error('this contender has no such operation');
  return load;
}

/** PocketBase without its request log, with a public collection of animals. */
export async function pocketBase(program: string, folder: string): Promise<Recipe> {
  const records = '/api/collections/pets/records';
  const loads: Partial<Record<Operation, Load>> = {
    list: { method: 'GET', paths: [`${records}?perPage=20&skipTotal=1`] },
    get: { method: 'GET', paths: animalIds().map((id) => `${records}/${recordId(id)}`) },
    create: creation(records),
  };
  const data = ['--dir', join(folder, 'pb_data')];
  const identity = 'bench@example.com';
  await promisify(execFile)(program, ['superuser', 'upsert', identity, PASSWORD, ...data]);
  return {
    name: 'pocketbase',
    command: (port) => [program, 'serve', `--http=127.0.0.1:${port}`, ...data],
    probe: '/api/health',
    load: (operation) => requireLoad(loads[operation]),
    async prepare(url) {
      const login = { identity, password: PASSWORD };
      const { token } = await post(`${url}/api/collections/_superusers/auth-with-password`, login);
      // The service has no access log by default either.
      await send('PATCH', `${url}/api/settings`, { logs: { maxDays: 0 } }, token);
      await post(`${url}/api/collections`, POCKETBASE_COLLECTION, token);
      for (const id of animalIds()) {
        const pet = { id: recordId(id), name: `Animal ${id}`, categoryId: id % 50, status: 'sold' };
        await post(`${url}${records}`, pet);
      }
    },
  };
}

/** Its ids have 15 characters. */
function recordId(id: number): string {
  return String(id).padStart(15, '0');
}

const POCKETBASE_COLLECTION = {
  name: 'pets',
  type: 'base',
  listRule: '',
  viewRule: '',
  createRule: '',
  fields: [
    { name: 'name', type: 'text', required: true, max: 255 },
    { name: 'categoryId', type: 'number', onlyInt: true },
    { name: 'status', type: 'select', maxSelect: 1, values: ['available', 'pending', 'sold'] },
  ],
};

function post(url: string, value: object, token?: string): Promise<{ token?: string }> {
  return send('POST', url, value, token);
}

async function send(
  method: string,
  url: string,
  value: object,
  token?: string,
): Promise<{ token?: string }> {
  const response = await fetch(url, {
    method,
    headers: {
      'Content-Type': 'application/json',
      ...(token === undefined ? {} : { Authorization: token }),
    },
    body: JSON.stringify(value),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url} responds with ${response.status}: ${text}`);
  return JSON.parse(text) as { token?: string };
}
