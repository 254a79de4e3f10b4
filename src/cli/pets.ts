import { parseArgs } from 'node:util';
import { PetStore, PetStoreError } from '../../sdk/src/index.ts';
import { DEFAULT_PORT, SETTINGS, UsageError } from '../config.ts';
import { INT64_MAX, INT64_MIN, parseInt64 } from '../domain/int64.ts';
import { LIMIT_MAX, LIMIT_MIN } from '../domain/page.ts';
import { PET_STATUSES, type PetStatus } from '../domain/pet.ts';
import type { Io } from './command.ts';
import { newJsonPrinter, newTablePrinter, type PetPrinter } from './pet-printer.ts';
import { printable } from './terminal.ts';

const DEFAULT_BASE_URL = `http://${SETTINGS.host.default}:${DEFAULT_PORT.production}/v1`;

const USAGE = `Usage
  petstore pets list [--status S] [--limit N] [--all]        show animals: one page, or all of them
  petstore pets add --name N --category-id I [--status S]    add an animal
  petstore pets get ID                                       show one animal (removed on 5 December 2030)

Options
  --status S        ${PET_STATUSES.join(', ')}
  --limit N         how many animals a page holds: ${LIMIT_MIN} to ${LIMIT_MAX}
  --json            one animal per line as JSON, with exact numbers
  --base-url URL    where the service is (default: ${DEFAULT_BASE_URL})

The API key comes from PETSTORE_API_KEY, so that it does not appear in the list of processes.
`;

const OPTIONS = {
  'base-url': { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  status: { type: 'string' },
  limit: { type: 'string' },
  all: { type: 'boolean' },
  name: { type: 'string' },
  'category-id': { type: 'string' },
} as const;

type Flags = {
  [Name in keyof typeof OPTIONS]?: (typeof OPTIONS)[Name]['type'] extends 'string'
    ? string
    : boolean;
};

const COMMON_FLAGS = ['base-url', 'json', 'help'];
const FLAGS_OF_VERB = {
  list: [...COMMON_FLAGS, 'status', 'limit', 'all'],
  add: [...COMMON_FLAGS, 'name', 'category-id', 'status'],
  get: COMMON_FLAGS,
};
type Verb = keyof typeof FLAGS_OF_VERB;

interface PetsCall {
  store: PetStore;
  flags: Flags;
  id: string | undefined;
  print: PetPrinter;
  io: Io;
}

const verbs: Record<Verb, (call: PetsCall) => Promise<void>> = { list, add, get };

/** Lists, adds and gets animals over HTTP, like any other client. */
export async function pets(args: string[], io: Io): Promise<number> {
  const [verb = '', ...rest] = args;
  if (verb === '--help' || verb === '-h') {
    io.stdout.write(USAGE);
    return 0;
  }
  if (!isVerb(verb)) {
    throw new UsageError(`pets needs one of list, add, get ID; got "${printable(verb)}".`);
  }
  const { flags, id } = parse(verb, rest);
  if (flags.help === true) {
    io.stdout.write(USAGE);
    return 0;
  }
  try {
    const print = flags.json === true ? newJsonPrinter(io.stdout) : newTablePrinter(io);
    await verbs[verb]({ store: openClient(flags, io), flags, id, print, io });
    return 0;
  } catch (error) {
    if (!(error instanceof PetStoreError)) throw error;
    const request = error.requestId === undefined ? '' : `, request ${error.requestId}`;
    io.stderr.write(`petstore: ${printable(`${error.message} (${error.code}${request})`)}\n`);
    return 1;
  }
}

function isVerb(text: string): text is Verb {
  return Object.hasOwn(verbs, text);
}

function parse(verb: Verb, args: string[]): { flags: Flags; id: string | undefined } {
  let parsed: { values: Flags; positionals: string[] };
  try {
    parsed = parseArgs({ args, options: OPTIONS, allowPositionals: true, strict: true });
  } catch (error) {
    // The whole message on one line: it also says how to write a negative number.
    const message = error instanceof Error ? error.message : String(error);
    throw new UsageError(printable(message.replaceAll('\n', ' ')));
  }
  const { values: flags, positionals } = parsed;
  const foreign = Object.keys(flags).find((flag) => !FLAGS_OF_VERB[verb].includes(flag));
  const surplus = foreign === undefined ? positionals[verb === 'get' ? 1 : 0] : `--${foreign}`;
  if (surplus === undefined) return { flags, id: positionals[0] };
  throw new UsageError(
    `pets ${verb} does not take "${printable(surplus)}"; see petstore pets --help.`,
  );
}

function openClient(flags: Flags, io: Io): PetStore {
  const apiKey = io.env['PETSTORE_API_KEY'] ?? '';
  // The value is a secret, so the message does not repeat it.
  if (!/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new UsageError(
      'PETSTORE_API_KEY is not set to a key: it must be a key that petstore keys create printed.',
    );
  }
  const baseUrl = flags['base-url'] ?? DEFAULT_BASE_URL;
  const warn = (message: string): unknown => io.stderr.write(`${printable(message)}\n`);
  try {
    return new PetStore({ baseUrl, apiKey, warn });
  } catch {
    throw new UsageError(
      `--base-url is "${printable(baseUrl)}": it must be an http or https address such as ${DEFAULT_BASE_URL}.`,
    );
  }
}

async function list({ store, flags, print, io }: PetsCall): Promise<void> {
  const limit = parseLimit(flags.limit) ?? (flags.all === true ? LIMIT_MAX : undefined);
  const listed = store.pets.list({ status: parseStatus(flags.status), limit });
  let page = await listed.page();
  if (page.pets.length === 0) io.stderr.write('There are no animals to show.\n');
  print(page.pets);
  while (flags.all === true && page.nextCursor !== undefined) {
    page = await listed.page(page.nextCursor);
    print(page.pets);
  }
  if (page.nextCursor !== undefined) io.stderr.write('There are more animals: --all shows them.\n');
}

async function add({ store, flags, print }: PetsCall): Promise<void> {
  const { name, 'category-id': categoryId } = flags;
  if (name === undefined || categoryId === undefined) {
    throw new UsageError('pets add needs --name N and --category-id I; see petstore pets --help.');
  }
  const newPet = {
    name,
    categoryId: parseId('--category-id', categoryId),
    status: parseStatus(flags.status),
  };
  print([await store.pets.create(newPet)]);
}

async function get({ store, id, print }: PetsCall): Promise<void> {
  if (id === undefined) throw new UsageError('pets get needs the ID of an animal.');
  print([await store.pets.get(parseId('ID', id))]);
}

function parseId(name: string, text: string): bigint {
  const value = parseInt64(text);
  if (value !== undefined) return value;
  throw new UsageError(
    `${name} is "${printable(text)}": it must be an integer from ${INT64_MIN} to ${INT64_MAX}.`,
  );
}

function parseLimit(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const limit = /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
  if (limit >= LIMIT_MIN && limit <= LIMIT_MAX) return limit;
  throw new UsageError(
    `--limit is "${printable(text)}": it must be an integer from ${LIMIT_MIN} to ${LIMIT_MAX}.`,
  );
}

function parseStatus(text: string | undefined): PetStatus | undefined {
  const status = PET_STATUSES.find((known) => known === text);
  if (status !== undefined || text === undefined) return status;
  throw new UsageError(
    `--status is "${printable(text)}": it must be one of ${PET_STATUSES.join(', ')}.`,
  );
}
