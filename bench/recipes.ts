import { join } from 'node:path';
import { NODE_FLAGS } from '../harness/command.ts';
import { newCursor } from '../src/domain/page.ts';
import type { Operation, Recipe } from './contender.ts';
import type { Load } from './generator.ts';

/** Every contender on Node.js gets the heap settings of the service. */
const node = [process.execPath, ...NODE_FLAGS];

export const ANIMAL_COUNT = 1_000;
/** Those of the comparison by cursor. */
export const CURSOR_ANIMAL_COUNT = 100_000;
/** More pages than the service caches, so that no request finds its page in the cache. */
const CURSOR_PAGES = 60_000;
const NEW_PET = '{"name":"Rex","categoryId":7,"status":"available"}';

/** The requests in the interface of the service, which most contenders have too. */
function petLoad(key: string, cursorPath = (afterId: number) => `/v1/pets?after=${afterId}`) {
  const headers = { Authorization: `Bearer ${key}` };
  const loads: Record<Operation, () => Load> = {
    list: () => ({ method: 'GET', paths: ['/v1/pets'], headers }),
    cursor: () => ({ method: 'GET', paths: cursorIds().map(cursorPath), headers }),
    get: () => ({ method: 'GET', paths: animalIds().map((id) => `/v1/pets/${id}`), headers }),
    create: () => ({
      method: 'POST',
      paths: ['/v1/pets'],
      body: NEW_PET,
      headers: { ...headers, 'Content-Type': 'application/json' },
    }),
  };
  return (operation: Operation) => loads[operation]();
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
