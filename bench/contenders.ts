import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { MAIN, NODE_FLAGS } from '../harness/command.ts';
import { freePort } from '../harness/free-port.ts';
import { newCursor } from '../src/domain/page.ts';
import type { PetStatus } from '../src/domain/pet.ts';
import type { Paths } from './load.ts';
import { endWithBench, familyOf, pinned, SERVER_CORE } from './processes.ts';
import type { PostgresStores, SqliteStores } from './stores.ts';

const BUILD_TIMEOUT_MS = 900_000;
const READY_TIMEOUT_MS = 60_000;
const POLL_INTERVAL_MS = 20;
const FOLDER = join(import.meta.dirname, 'contenders');

export interface Contender {
  name: string;
  /** How many its store has at first. */
  animals: number;
  paths: Paths;
  /** Makes a new store, and returns the command that serves it. */
  command: (port: number) => Promise<string[]>;
}

/** What the contenders need. */
export interface Parts {
  /** A temporary folder. */
  folder: string;
  key: string;
  animals: number;
  sqlite: SqliteStores;
  postgres?: PostgresStores;
}

/** Every contender on Node.js gets the heap settings of the service. */
const node = [process.execPath, ...NODE_FLAGS];

/** The service as `npm start` starts it, with its default settings. */
export function petstore(parts: Parts, name = 'petstore'): Contender {
  const { sqlite, postgres, animals, folder } = parts;
  return {
    name,
    animals,
    paths: {
      create: '/v1/pets',
      pet: (id) => `/v1/pets/${id}`,
      page: ({ after, limit, status }) =>
        withQuery('/v1/pets', {
          limit,
          status,
          cursor:
            after === undefined
              ? undefined
              : newCursor(BigInt(after), status as PetStatus | undefined),
        }),
    },
    command: async (port) => {
      const serve = [...node, MAIN, 'serve', `--port=${port}`, '--admin-port=0', '--data'];
      if (postgres === undefined) return [...serve, (await sqlite.copy(animals)).folder];
      return ['env', `DATABASE_URL=${await postgres.copy('service')}`, ...serve, folder];
    },
  };
}

const PLAIN_PATHS: Paths = {
  create: '/v1/pets',
  pet: (id) => `/v1/pets/${id}`,
  page: (part) => withQuery('/v1/pets', part),
};

/** Sends what the service sent, without any store. */
export function bare({ folder, animals }: Parts): Contender {
  const file = responsesFile(folder);
  const command = [...node, join(FOLDER, 'bare.js')];
  return {
    name: 'bare',
    animals,
    paths: PLAIN_PATHS,
    command: (port) => Promise.resolve([...command, String(port), file]),
  };
}

export function fastify(parts: Parts): Contender {
  const command = [...node, join(FOLDER, 'fastify.ts')];
  return {
    name: 'fastify',
    animals: parts.animals,
    paths: PLAIN_PATHS,
    command: async (port) => [...command, String(port), await databaseOf(parts)],
  };
}

export async function go(parts: Parts): Promise<Contender> {
  const program = await goBuild('go', parts.folder);
  return {
    name: 'go',
    animals: parts.animals,
    paths: PLAIN_PATHS,
    command: async (port) => [program, String(port), await databaseOf(parts)],
  };
}

/** PocketBase has ids of 15 characters. */
const recordId = (id: number) => String(id).padStart(15, '0');

export async function pocketbase({ folder, animals }: Parts): Promise<Contender> {
  const program = await goBuild('pocketbase', folder);
  const records = '/api/collections/pets/records';
  let starts = 0;
  return {
    name: 'pocketbase',
    animals,
    paths: {
      create: records,
      pet: (id) => `${records}/${recordId(id)}`,
      page: ({ after, limit = 20, status }) => {
        const filters = [
          ...(after === undefined ? [] : [`id > '${recordId(after)}'`]),
          ...(status === undefined ? [] : [`status = '${status}'`]),
        ];
        const filter = filters.length === 0 ? undefined : filters.join(' && ');
        return withQuery(records, { perPage: limit, skipTotal: 1, sort: 'id', filter });
      },
    },
    command: (port) => {
      starts += 1;
      const data = join(folder, `pocketbase-${starts}`);
      return Promise.resolve([program, String(port), data, String(animals)]);
    },
  };
}

function withQuery(path: string, parameters: Record<string, string | number | undefined>): string {
  const given = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  return given.length === 0 ? path : `${path}?${given.join('&')}`;
}

/** The SQLite file or the address that the others get. */
async function databaseOf({ sqlite, postgres, animals }: Parts): Promise<string> {
  return postgres?.copy('others') ?? (await sqlite.copy(animals)).file;
}

/** Builds a contender that is written in Go, and returns its program. */
async function goBuild(name: string, folder: string): Promise<string> {
  const program = join(folder, `${name}-contender`);
  const options = { cwd: join(FOLDER, name), timeout: BUILD_TIMEOUT_MS };
  await promisify(execFile)('go', ['build', '-o', program, '.'], options);
  return program;
}

/** A contender that runs. */
export interface Server {
  name: string;
  url: string;
  pids: number[];
  stop: () => Promise<void>;
}

export async function start(contender: Contender, key: string): Promise<Server> {
  const port = await freePort();
  const [program, ...args] = pinned(await contender.command(port), SERVER_CORE);
  const env = { ...process.env, PETSTORE_BOOTSTRAP_KEY: key };
  const child = endWithBench(spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'], env }));
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => {
    stderr = (stderr + chunk.toString()).slice(-2_000);
  });
  const url = `http://127.0.0.1:${port}`;
  const startedMs = performance.now();
  while (!(await isReady(`${url}${contender.paths.pet(1)}`, key))) {
    if (child.exitCode !== null || performance.now() - startedMs > READY_TIMEOUT_MS) {
      throw new Error(`${contender.name} did not start: ${stderr}`);
    }
    await sleep(POLL_INTERVAL_MS);
  }
  return { name: contender.name, url, pids: familyOf(child.pid), stop: () => stop(child) };
}

async function isReady(url: string, key: string): Promise<boolean> {
  try {
    const response = await fetch(url, { headers: { Authorization: `Bearer ${key}` } });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}

const responsesFile = (folder: string) => join(folder, 'responses.json');

/** Records what the service responds, for `bare` to send. Returns the bytes of a page with its head. */
export async function recordResponses({ url }: Server, { folder, key }: Parts): Promise<number> {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const body = '{"name":"Rex","categoryId":7,"status":"available"}';
  const record = async (path: string, request: RequestInit = {}) => {
    const response = await fetch(`${url}${path}`, { headers, ...request });
    // node:http adds these itself.
    const added = new Set(['date', 'connection', 'keep-alive']);
    const sent = [...response.headers].filter(([name]) => !added.has(name)).flat();
    return { status: response.status, headers: sent, body: await response.text() };
  };
  const page = await record('/v1/pets');
  const pet = await record('/v1/pets/1');
  const created = await record('/v1/pets', { method: 'POST', body });
  writeFileSync(responsesFile(folder), JSON.stringify({ page, pet, created }));
  return page.headers.join(': ').length + page.body.length;
}
