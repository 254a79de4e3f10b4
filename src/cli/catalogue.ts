import { oneOf, UsageError, type Flags } from '../setting.ts';
import { INT64_MAX, INT64_MIN, parseTypedInt64 } from '../domain/int64.ts';
import { isName, NAME_CODE_POINTS_MAX, PET_STATUSES, type Pet } from '../domain/pet.ts';
import { isBlank, trimName } from '../domain/typed-pet.ts';
import type { PetChange, PetConflict } from '../domain/store.ts';
import { defineCommand, type CommandGroup, type CommandIo, type Io } from './command.ts';
import { printable } from '../domain/printable.ts';
import { openStoreByFlags, STORE_OPTIONS } from './store-flags.ts';
import { renderTable } from './terminal.ts';

const IDS = { name: 'ID', description: 'the ids of the animals', isRepeated: true };
const NOTES = `All animals are changed in one transaction. If an id does not exist, or somebody has changed an
animal meanwhile, nothing is changed: each such id is reported on a line of its own, and the exit
code is 1.`;

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
    const to = (pet: Pet) => ({ ...pet, ...fields });
    return change(texts, flags, io, { verb: 'Changed', to });
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
    const isConfirmed = (pets: Pet[], animals: string) => {
      const rows = pets.map(({ id, status, name }) => [`  ${id}`, status, printable(name)]);
      io.stderr.write(renderTable(rows));
      return confirm(`Really remove ${animals}? This cannot be undone.`, io);
    };
    return change(texts, flags, io, {
      verb: 'Removed',
      to: () => undefined,
      ...(!switches.yes && { isConfirmed }),
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

interface Change {
  verb: string;
  to: (pet: Pet) => PetChange['to'];
  isConfirmed?: (pets: Pet[], animals: string) => Promise<boolean>;
}

async function change(
  texts: readonly string[],
  flags: Flags,
  io: CommandIo,
  { verb, to, isConfirmed = () => Promise.resolve(true) }: Change,
): Promise<number> {
  const ids = [...new Set(texts.map(parseId))];
  const { store, name } = await openStoreByFlags(flags, io);
  try {
    const animals = `${ids.length} animal${ids.length === 1 ? '' : 's'} in ${name}`;
    const found = await Promise.all(ids.map((id) => store.findPet(id)));
    const pets = found.filter((pet) => pet !== undefined);
    let conflicts: PetConflict[] = ids
      .filter((_, at) => found[at] === undefined)
      .map((id) => ({ id, kind: 'gone' }));
    let isDone = false;
    if (conflicts.length === 0 && (await isConfirmed(pets, animals))) {
      conflicts = await store.changePets(pets.map((from) => ({ from, to: to(from) })));
      isDone = conflicts.length === 0;
    }
    for (const conflict of conflicts) io.stderr.write(`petstore: ${reasonOf(conflict)}.\n`);
    io.stderr.write(`${isDone ? `${verb} ${animals}` : `Nothing was changed in ${name}`}.\n`);
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

function reasonOf({ id, kind }: PetConflict): string {
  if (kind === 'gone') return `no animal has the id ${id}`;
  return `somebody has changed the animal ${id} meanwhile: look at it, and run the command again`;
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
