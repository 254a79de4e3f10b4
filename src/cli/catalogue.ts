import { parseArguments, UsageError } from '../config.ts';
import { PET_STATUSES, type Pet, type PetStatus } from '../domain/pet.ts';
import type { Store } from '../domain/store.ts';
import type { Io } from './command.ts';
import { IDS_MAX, readIds } from './pet-ids.ts';
import { openStoreByFlags, STORE_OPTIONS, type StoreFlags } from './store-flags.ts';
import { printable, renderTable } from './terminal.ts';

/** How many animals are shown before a question or in a dry run. */
const SHOWN_MAX = 10;
/** How many animals are looked up at once. */
const LOOKUPS_MAX = 100;

const USAGE = `Usage
  petstore catalogue set-status ID… --to STATUS     give animals a status: ${PET_STATUSES.join(', ')}
  petstore catalogue remove ID…                     remove animals; asks first

Options
  --from-file FILE  take the ids from a file, one per line, or from standard input with -
  --dry-run         show what would be changed, and change nothing
  --yes             remove without a question; needed where no terminal can be asked
  --json            write the result to standard output as JSON
  --env, --data, --database
                    which store; the service may be running meanwhile

All animals are changed in one transaction, at most ${IDS_MAX.toLocaleString('en-US')} at once. If an id does not exist, nothing is
changed: each such id is reported on a line of its own, and the exit code is 1.
`;

const CHANGE_OPTIONS = {
  ...STORE_OPTIONS,
  'from-file': { type: 'string' },
  'dry-run': { type: 'boolean' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

/** What both commands take. */
export interface ChangeOptions {
  ids: readonly string[];
  fromFile: string | undefined;
  isDryRun: boolean;
  isJson: boolean;
  storeFlags: StoreFlags;
}

/** What is done to the animals, and the words for it. */
interface Change {
  apply: (store: Store, ids: bigint[]) => Promise<bigint[]>;
  /** "set the status of 2 animals to sold": after "Would", or as a question. */
  words: (animals: string) => string;
  done: (animals: string) => string;
  needsConfirmation: boolean;
}

/** Changes and removes animals, whether or not the service is running. */
export async function catalogue([verb, ...args]: string[], io: Io): Promise<number> {
  if (verb === '--help' || verb === '-h') return usage(io);
  if (verb === 'set-status') {
    const options = { ...CHANGE_OPTIONS, to: { type: 'string' } } as const;
    const { values, positionals } = parseArguments({ args, options, allowPositionals: true });
    if (values.help === true) return usage(io);
    return setStatus({ ...changeOptions(values, positionals), to: values.to }, io);
  }
  if (verb === 'remove') {
    const options = { ...CHANGE_OPTIONS, yes: { type: 'boolean' } } as const;
    const { values, positionals } = parseArguments({ args, options, allowPositionals: true });
    if (values.help === true) return usage(io);
    return remove({ ...changeOptions(values, positionals), isConfirmed: values.yes === true }, io);
  }
  throw new UsageError(
    `catalogue needs one of set-status ID… --to STATUS, remove ID…; got "${verb ?? ''}".`,
  );
}

function usage(io: Io): number {
  io.stdout.write(USAGE);
  return 0;
}

function changeOptions(
  values: StoreFlags & { 'from-file'?: string; 'dry-run'?: boolean; json?: boolean },
  ids: string[],
): ChangeOptions {
  return {
    ids,
    fromFile: values['from-file'],
    isDryRun: values['dry-run'] === true,
    isJson: values.json === true,
    storeFlags: values,
  };
}

export function setStatus(
  { to, ...options }: ChangeOptions & { to: string | undefined },
  io: Io,
): Promise<number> {
  const status = parseStatus(to);
  return change(options, io, {
    apply: (store, ids) => store.setPetStatus(ids, status),
    words: (animals) => `set the status of ${animals} to ${status}`,
    done: (animals) => `Set the status of ${animals} to ${status}.`,
    needsConfirmation: false,
  });
}

export function remove(
  { isConfirmed, ...options }: ChangeOptions & { isConfirmed: boolean },
  io: Io,
): Promise<number> {
  return change(options, io, {
    apply: (store, ids) => store.removePets(ids),
    words: (animals) => `remove ${animals}`,
    done: (animals) => `Removed ${animals}.`,
    needsConfirmation: !isConfirmed,
  });
}

function parseStatus(text: string | undefined): PetStatus {
  const status = PET_STATUSES.find((each) => each === text);
  if (status !== undefined) return status;
  const given = text === undefined ? 'is missing' : `is "${text}"`;
  throw new UsageError(`--to ${given}: it must be one of ${PET_STATUSES.join(', ')}.`);
}

async function change(options: ChangeOptions, io: Io, work: Change): Promise<number> {
  const { isDryRun, isJson, fromFile } = options;
  const mustAsk = work.needsConfirmation && !isDryRun;
  if (mustAsk && (fromFile === '-' || !isTerminal(io))) {
    throw new UsageError('catalogue remove needs --yes where no terminal can be asked.');
  }
  const ids = await readIds(options.ids, fromFile, io);
  const { store } = await openStoreByFlags(options.storeFlags, io.env, { mustExist: true });
  try {
    const animals = `${ids.length.toLocaleString('en-US')} animal${ids.length === 1 ? '' : 's'}`;
    const report = (missing: bigint[], isChanged: boolean) => {
      if (isJson) io.stdout.write(resultJson(ids, missing, isChanged));
      for (const id of missing) io.stderr.write(`petstore: no animal has the id ${id}.\n`);
      if (missing.length > 0) io.stderr.write('petstore: nothing was changed.\n');
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
        io.stderr.write('Nothing was changed.\n');
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

async function findPets(store: Store, ids: bigint[]): Promise<Map<bigint, Pet>> {
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
    renderTable(rows.map(({ id, name, status }) => [`  ${id}`, status, printable(name)])),
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

/** Ids have all their digits, as in the interface. */
function resultJson(ids: bigint[], missing: bigint[], isChanged: boolean): string {
  return `{"ids":[${ids.join(',')}],"missing":[${missing.join(',')}],"changed":${isChanged}}\n`;
}
