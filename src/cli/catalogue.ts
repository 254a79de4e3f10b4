import { oneOf, UsageError, type Flags } from '../setting.ts';
import { INT64_MAX, INT64_MIN, parseTypedInt64 } from '../domain/int64.ts';
import { isName, NAME_CODE_POINTS_MAX, PET_STATUSES } from '../domain/pet.ts';
import { isBlank, trimName } from '../domain/typed-name.ts';
import type { CatalogueAdministration } from '../domain/store.ts';
import { defineCommand, type CommandGroup, type CommandIo, type Io } from './command.ts';
import { printable } from '../domain/printable.ts';
import { openStoreByFlags, STORE_OPTIONS } from './store-flags.ts';
import { renderTable } from './terminal.ts';

const IDS = { name: 'ID', description: 'the ids of the animals', isRepeated: true };
const NOTES = `All animals are changed in one transaction. If an id does not exist, nothing is changed: each such
id is reported on a line of its own, and the exit code is 1.`;

const set = defineCommand({
  purpose: 'Give animals a status, a name or a category',
  arguments: [IDS],
  options: {
    status: { ...oneOf(PET_STATUSES), description: 'the new status' },
    name: {
      value: 'NAME',
      parse: (text: string) => {
        const name = trimName(text);
        return isName(name) && !isBlank(name) ? name : undefined;
      },
      mustBe: `a text of 1 to ${NAME_CODE_POINTS_MAX} characters, of which one can be seen`,
      description: 'the new name; the space around it is removed',
    },
    category: {
      value: 'CATEGORY',
      parse: parseTypedInt64,
      mustBe: `a whole number from ${INT64_MIN} to ${INT64_MAX}`,
      description: 'the new category, a whole number',
    },
    ...STORE_OPTIONS,
  },
  notes: NOTES,
  examples: ['catalogue set 1 2 --status sold', 'catalogue set 3 --name Bella --category 7'],
  action: ({ arguments: texts, options: { status, name, category }, flags, io }) => {
    const fields = {
      ...(status !== undefined && { status }),
      ...(name !== undefined && { name }),
      ...(category !== undefined && { categoryId: category }),
    };
    if (Object.keys(fields).length === 0) {
      throw new UsageError('catalogue set needs --status, --name or --category.');
    }
    return change(texts, flags, io, async (store, ids, animals) => ({
      missing: await store.changePets(ids, fields),
      done: `Changed ${animals}.`,
    }));
  },
});

const remove = defineCommand({
  purpose: 'Remove animals, after a question',
  arguments: [IDS],
  options: STORE_OPTIONS,
  switches: { yes: 'remove without a question; needed where no terminal can be asked' },
  notes: `${NOTES} For a file of ids:
xargs petstore catalogue remove --yes < ids.txt`,
  examples: ['catalogue remove 3 --yes', 'catalogue remove 1 2 --yes'],
  action: ({ arguments: texts, switches, flags, io }) => {
    if (!switches.yes && !isTerminal(io)) {
      throw new UsageError('catalogue remove needs --yes where no terminal can be asked.');
    }
    return change(texts, flags, io, async (store, ids, animals) => {
      if (!switches.yes) {
        const missing = await show(store, ids, io);
        if (missing.length > 0) return { missing };
        if (!(await confirm(`Really remove ${animals}? This cannot be undone.`, io))) return {};
      }
      return { missing: await store.removePets(ids), done: `Removed ${animals}.` };
    });
  },
});

export const catalogue: CommandGroup = {
  purpose: 'Change and remove animals, whether or not the service runs',
  // remove is similar to rename.
  suggestsCommands: false,
  commands: {
    set,
    remove,
  },
};

interface Changed {
  /** The ids that do not exist. */
  missing?: bigint[];
  /** Undefined if nothing was tried. */
  done?: string;
}

async function change(
  texts: readonly string[],
  flags: Flags,
  io: CommandIo,
  apply: (store: CatalogueAdministration, ids: bigint[], animals: string) => Promise<Changed>,
): Promise<number> {
  const ids = [...new Set(texts.map(parseId))];
  const { store, name } = await openStoreByFlags(flags, io);
  try {
    const animals = `${ids.length} animal${ids.length === 1 ? '' : 's'} in ${name}`;
    const { missing = [], done } = await apply(store, ids, animals);
    for (const id of missing) io.stderr.write(`petstore: no animal has the id ${id}.\n`);
    const isDone = done !== undefined && missing.length === 0;
    io.stderr.write(`${isDone ? done : `Nothing was changed in ${name}.`}\n`);
    return isDone ? 0 : 1;
  } finally {
    await store.close();
  }
}

function parseId(text: string): bigint {
  const id = parseTypedInt64(text);
  if (id !== undefined && id >= 0n) return id;
  throw new UsageError(`"${text}" is not the id of an animal: it must be a whole number.`);
}

/** Shows the animals, or returns the ids that do not exist. */
async function show(store: CatalogueAdministration, ids: bigint[], io: Io): Promise<bigint[]> {
  const pets = await Promise.all(ids.map((id) => store.findPet(id)));
  const rows = pets.flatMap((pet) =>
    pet === undefined ? [] : [[`  ${pet.id}`, pet.status, printable(pet.name)]],
  );
  if (rows.length === ids.length) io.stderr.write(renderTable(rows));
  return ids.filter((_, at) => pets[at] === undefined);
}

function isTerminal(io: Io): boolean {
  return (io.stdin ?? process.stdin).isTTY === true && io.stderr.isTTY === true;
}

async function confirm(question: string, io: Io): Promise<boolean> {
  io.stderr.write(`${question} Type yes to continue: `);
  let line = '';
  for await (const chunk of io.stdin ?? process.stdin) {
    line += Buffer.from(chunk).toString('utf8');
    if (line.includes('\n')) break;
  }
  return line.trim().toLowerCase() === 'yes';
}
