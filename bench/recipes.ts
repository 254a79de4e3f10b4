import manifest from '../package.json' with { type: 'json' };
import { scriptPath, type Recipe } from './contender.ts';

const node = process.execPath;
const nodeFlags = manifest.scripts.start.match(/--\S+/g) ?? [];

/** The service as `npm start` starts it, with the default settings for keys, validation, metrics and log. */
export function petstore(dataFolder: string, settings: readonly string[] = []): Recipe {
  return {
    name: 'petstore',
    command: (port) => [
      node,
      ...nodeFlags,
      scriptPath('../bin/petstore.js'),
      'serve',
      '--port',
      String(port),
      '--admin-port',
      '0',
      '--data',
      dataFolder,
      ...settings,
    ],
    probe: '/v1/pets',
  };
}

/** node:http that sends the recorded headers and bytes of the service: the upper limit. */
export function bare(responseFile: string): Recipe {
  return {
    name: 'bare',
    command: (port) => [node, scriptPath('contenders/bare.js'), String(port), responseFile],
    probe: '/',
  };
}

/** node:http, node:sqlite, JSON.stringify, and nothing else. */
export function bareSqlite(storeFile: string): Recipe {
  return {
    name: 'bare-sqlite',
    command: (port) => [node, scriptPath('contenders/bare-sqlite.ts'), String(port), storeFile],
    probe: '/pets?after=0',
  };
}

/** A typical service: Fastify with schemas, node:sqlite, one commit per create. */
export function typical(storeFile: string): Recipe {
  return {
    name: 'typical',
    command: (port) => [node, scriptPath('contenders/typical.ts'), String(port), storeFile],
    probe: '/v1/pets',
  };
}

export function jsonServer(databaseFile: string): Recipe {
  return {
    name: 'json-server',
    command: (port) => [
      node,
      scriptPath('../node_modules/json-server/lib/cli/bin.js'),
      '--quiet',
      '--port',
      String(port),
      '--host',
      '127.0.0.1',
      databaseFile,
    ],
    probe: '/pets?_limit=20',
  };
}

/** node:http and pg, one query per request. */
export function barePg(databaseUrl: string): Recipe {
  return {
    name: 'bare-pg',
    command: (port) => [node, scriptPath('contenders/bare-pg.ts'), String(port), databaseUrl],
    probe: '/pets',
  };
}
