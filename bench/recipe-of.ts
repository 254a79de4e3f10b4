import { storeFileOf } from './animals.ts';
import { recordResponses, type Bench } from './bench.ts';
import type { Contender, Recipe } from './contender.ts';
import type { Databases } from './databases.ts';
import type { Load } from './generator.ts';
import { goContender, ownContender } from './recipes.ts';

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
  const { key, go, stores } = bench;
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
      return goContender(key, await go.build(), name, await database());
    default:
      throw new Error(`${name} is not a contender`);
  }
}
