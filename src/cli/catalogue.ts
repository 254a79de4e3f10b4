import { oneOf, UsageError, type Flags } from '../setting.ts';
import { PET_STATUSES, type Pet } from '../domain/pet.ts';
import type { CatalogueAdministration } from '../domain/store.ts';
import { defineCommand, type CommandGroup, type CommandIo, type Io } from './command.ts';
import { printable } from '../domain/printable.ts';
import { IDS_MAX, readIds } from './pet-ids.ts';
import { openStoreByFlags, STORE_OPTIONS } from './store-flags.ts';
import { renderTable } from './terminal.ts';

/** How many animals are shown before a question or in a dry run. */
const SHOWN_MAX = 10;
/** How many animals are looked up at once. */
const LOOKUPS_MAX = 100;

const IDS = {
  name: 'ID',
  description: 'the ids of the animals',
  isOptional: true,
  isRepeated: true,
};
const OPTIONS = {
  'from-file': {
    value: 'FILE',
    description: 'take ids from a file, one per line, or from standard input with -',
    parse: (text: string) => text || undefined,
    mustBe: 'a file of ids, or - for standard input',
  },
  ...STORE_OPTIONS,
};
const SWITCHES = {
  'dry-run': 'show what would be changed, and change nothing',
  json: 'write the result as one JSON document',
};
const NOTES = `All animals are changed in one transaction, at most ${IDS_MAX.toLocaleString('en-US')} at once. If an id does not exist,
nothing is changed: each such id is reported on a line of its own, and the exit code is 1.`;

const setStatus = defineCommand({
  purpose: 'Give animals a status',
  arguments: [IDS],
  options: {
    to: {
      ...oneOf(PET_STATUSES),
      isRequired: true,
      description: 'the new status (available, pending or sold)',
    },
    ...OPTIONS,
  },
  switches: SWITCHES,
  notes: NOTES,
  examples: [
    'catalogue set-status 1 2 --to sold',
    'catalogue set-status --from-file sold.txt --to sold --dry-run',
  ],
  action: ({ options: { to, ...options }, ...call }) =>
    change(
      { ...call, options },
      {
        apply: (store, found) => store.changePets(found, { status: to }),
        words: (animals) => `set the status of ${animals} to ${to}`,
        done: (animals) => `Set the status of ${animals} to ${to}.`,
        needsConfirmation: false,
      },
    ),
});

const remove = defineCommand({
  purpose: 'Remove animals, after a question',
  arguments: [IDS],
  options: OPTIONS,
  switches: {
    ...SWITCHES,
    yes: 'remove without a question; needed where no terminal can be asked',
  },
  notes: NOTES,
  examples: ['catalogue remove 3 --yes', 'catalogue remove --from-file sold.txt --dry-run'],
  action: (call) =>
    change(call, {
      apply: (store, found) => store.removePets(found),
      words: (animals) => `remove ${animals}`,
      done: (animals) => `Removed ${animals}.`,
      needsConfirmation: !call.switches.yes,
    }),
});

export const catalogue: CommandGroup = {
  purpose: 'Change and remove animals, whether or not the service runs',
  worksOn: 'store',
  commands: { 'set-status': setStatus, remove },
};

/** What both commands take. */
interface ChangeCall {
  arguments: readonly string[];
  options: { 'from-file'?: string | undefined };
  switches: { 'dry-run': boolean; json: boolean };
  flags: Flags;
  io: CommandIo;
}

/** What is done to the animals, and how it is described. */
interface Change {
  apply: (store: CatalogueAdministration, ids: bigint[]) => Promise<bigint[]>;
  /** "set the status of 2 animals to sold": after "Would", or as a question. */
  words: (animals: string) => string;
  done: (animals: string) => string;
  needsConfirmation: boolean;
}

async function change(call: ChangeCall, work: Change): Promise<number> {
  const { flags, io } = call;
  const { 'dry-run': isDryRun, json: isJson } = call.switches;
  const fromFile = call.options['from-file'];
  const mustAsk = work.needsConfirmation && !isDryRun;
  const ids = await readIds(call.arguments, fromFile, io);
  if (mustAsk && (fromFile === '-' || !isTerminal(io))) {
    throw new UsageError('catalogue remove needs --yes where no terminal can be asked.');
  }
  const { store, name } = await openStoreByFlags(flags, io);
  try {
    const animals = `${ids.length.toLocaleString('en-US')} animal${ids.length === 1 ? '' : 's'} in ${name}`;
    const report = (missing: bigint[], isChanged: boolean) => {
      if (isJson) io.stdout.write(resultJson(ids, missing, isChanged));
      for (const id of missing) io.stderr.write(`petstore: no animal has the id ${id}.\n`);
      if (missing.length > 0) io.stderr.write(`petstore: nothing was changed in ${name}.\n`);
      return missing.length === 0 ? 0 : 1;
    };
    if (isDryRun || mustAsk) {
      const found = await findPets(store, ids);
      const missing = ids.filter((id) => !found.has(id));
      if (missing.length > 0) return report(missing, false);
      showPets([...found.values()], io);
      if (isDryRun) {
        io.stderr.write(`Would ${work.words(animals)}; nothing was changed.\n`);
        return report([], false);
      }
      if (!(await confirm(`Really ${work.words(animals)}? This cannot be undone.`, io))) {
        io.stderr.write(`Nothing was changed in ${name}.\n`);
        return 1;
      }
    }
    const missing = await work.apply(store, ids);
    if (missing.length === 0) io.stderr.write(`${work.done(animals)}\n`);
    return report(missing, missing.length === 0);
  } finally {
    await store.close();
  }
}

async function findPets(store: CatalogueAdministration, ids: bigint[]): Promise<Map<bigint, Pet>> {
  const found = new Map<bigint, Pet>();
  for (let start = 0; start < ids.length; start += LOOKUPS_MAX) {
    const some = ids.slice(start, start + LOOKUPS_MAX);
    for (const pet of await Promise.all(some.map((id) => store.findPet(id)))) {
      if (pet !== undefined) found.set(pet.id, pet);
    }
  }
  return found;
}

function showPets(pets: Pet[], io: Io): void {
  const rows = pets.slice(0, SHOWN_MAX);
  const more = pets.length - rows.length;
  io.stderr.write(
    renderTable(
      rows.map(({ id, name, status }) => [`  ${id}`, status, printable(name)]),
      io.stderr.columns,
    ),
  );
  if (more > 0) io.stderr.write(`  … and ${more.toLocaleString('en-US')} more\n`);
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

/** JSON.stringify refuses a bigint, so the digits are written as they are. */
function resultJson(ids: bigint[], missing: bigint[], isChanged: boolean): string {
  return `{"ids":[${ids.join(',')}],"missing":[${missing.join(',')}],"changed":${isChanged}}\n`;
}
