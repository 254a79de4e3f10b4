import { oneOf, UsageError, type Flags } from '../setting.ts';
import { INT64_MAX } from '../domain/int64.ts';
import { PET_STATUSES } from '../domain/pet.ts';
import type { CatalogueAdministration } from '../domain/store.ts';
import { defineCommand, type CommandGroup, type CommandIo, type Io } from './command.ts';
import { printable } from '../domain/printable.ts';
import { openStoreByFlags, STORE_OPTIONS } from './store-flags.ts';
import { renderTable } from './terminal.ts';

const IDS = { name: 'ID', description: 'the ids of the animals', isRepeated: true };
const NOTES = `All animals are changed in one transaction. If an id does not exist, nothing is changed: each such
id is reported on a line of its own, and the exit code is 1.`;

const setStatus = defineCommand({
  purpose: 'Give animals a status',
  arguments: [IDS],
  options: {
    to: {
      ...oneOf(PET_STATUSES),
      isRequired: true,
      description: 'the new status (available, pending or sold)',
    },
    ...STORE_OPTIONS,
  },
  notes: NOTES,
  examples: ['catalogue set-status 1 2 --to sold', 'catalogue set-status 1 --to available'],
  action: ({ arguments: texts, options: { to }, flags, io }) =>
    change(texts, flags, io, async (store, ids, animals) => {
      const missing = await store.changePets(ids, { status: to });
      return { missing, done: `Set the status of ${animals} to ${to}.` };
    }),
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
  commands: { 'set-status': setStatus, remove },
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
  const id = /^\d{1,19}$/.test(text) ? BigInt(text) : undefined;
  if (id !== undefined && id <= INT64_MAX) return id;
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
