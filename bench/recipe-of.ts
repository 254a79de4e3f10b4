import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { animalJson, storeFileOf } from './animals.ts';
import { recordResponses, type Bench } from './bench.ts';
import type { Contender, Recipe } from './contender.ts';
import type { Databases } from './databases.ts';
import type { Load } from './generator.ts';
import { goContender, jsonServer, ownContender, pocketBase } from './recipes.ts';

/** What a recipe may need: the service that runs already, and the load it will get. */
export interface RecipeParts {
  bench: Bench;
  /** Undefined for contenders on SQLite. */
  databases?: Databases | undefined;
  animals: number;
  service: Contender;
  load: Load;
}

/** Throws where the contender cannot be built here. */
export async function recipeOf(name: string, parts: RecipeParts): Promise<Recipe> {
  const { bench, databases, animals, service, load } = parts;
  const { key, go, folder, stores } = bench;
  const database = async () =>
    databases === undefined
      ? storeFileOf(await stores.folderWith(animals))
      : databases.createWithTable(animals);
  switch (name) {
    case 'bare':
    case 'bare-tuned': {
      const loads = [service.recipe.load('list'), load];
      const argument = await recordResponses(bench, service, loads);
      return ownContender(key, { name, script: 'bare.js', argument, isTuned: name !== 'bare' });
    }
    case 'bare-sqlite':
    case 'bare-pg':
      return ownContender(key, { name, script: `${name}.ts`, argument: await database() });
    case 'fastify-sqlite':
    case 'fastify-pg':
      return ownContender(key, { name, script: 'fastify.ts', argument: await database() });
    case 'go-sqlite':
    case 'go-pg':
      return goContender(key, await go.contender(), name, await database());
    case 'pocketbase':
      return pocketBase(await go.pocketBase(), mkdtempSync(join(folder, 'pocketbase-')));
    case 'json-server':
      return jsonServer(writeJsonDatabase(mkdtempSync(join(folder, 'json-server-')), animals));
    default:
      throw new Error(`${name} is not a contender`);
  }
}

function writeJsonDatabase(folder: string, animals: number): string {
  const file = join(folder, 'database.json');
  const pets = Array.from({ length: animals }, (_, index) => animalJson(index + 1));
  writeFileSync(file, JSON.stringify({ pets }));
  return file;
}
