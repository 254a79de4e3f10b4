import { PetStore, PetStoreError } from '../../sdk/src/index.ts';
import { DEFAULT_PORT, SETTINGS } from '../config.ts';
import { integerFrom, oneOf, parseValue, UsageError } from '../setting.ts';
import { INT64_MAX, INT64_MIN, parseInt64 } from '../domain/int64.ts';
import { LIMIT_DEFAULT, LIMIT_MAX, LIMIT_MIN } from '../domain/page.ts';
import { PET_STATUSES } from '../domain/pet.ts';
import { printable } from '../domain/printable.ts';
import { defineCommand, type CommandGroup, type Io } from './command.ts';
import { newJsonPrinter, newTablePrinter, type PetPrinter } from './pet-printer.ts';
import { missingKeyText, programName } from './program-name.ts';

const SERVICE_OPTIONS = {
  'base-url': {
    variable: SETTINGS['base-url'].variable,
    value: 'URL',
    default: `http://${SETTINGS.host.default}:${DEFAULT_PORT.production}/v1`,
    description: 'where the service is',
    parse: SETTINGS['base-url'].parse,
    mustBe: SETTINGS['base-url'].mustBe,
  },
};
const STATUS = oneOf(PET_STATUSES);
const INT64 = {
  value: 'INTEGER',
  parse: (text: string) => parseInt64(text),
  mustBe: `an integer from ${INT64_MIN} to ${INT64_MAX}`,
};
const SWITCHES = { json: 'write one animal per line as JSON, with exact numbers' };
const NOTES = `PETSTORE_API_KEY holds the API key, so that the key does not appear in the list of processes. In a
pipe, each animal is a line of id, status, category and name, separated by tabs.`;

const list = defineCommand({
  purpose: 'List animals: one page, or all of them',
  options: {
    status: { ...STATUS, defaultText: 'any', description: 'only animals with this status' },
    limit: {
      value: 'N',
      defaultText: `${LIMIT_DEFAULT}, with --all ${LIMIT_MAX}`,
      description: 'how many animals a page holds',
      ...integerFrom(LIMIT_MIN, LIMIT_MAX),
    },
    ...SERVICE_OPTIONS,
  },
  switches: {
    newest: 'begin with the newest animal',
    all: 'follow the pages to the last one',
    ...SWITCHES,
  },
  notes: NOTES,
  examples: ['pets list --status available', 'pets list --newest', 'pets list --all --json'],
  action: ({ options, switches, io }) =>
    withService(options['base-url'], switches.json, io, async (store, print) => {
      const { status, limit = switches.all ? LIMIT_MAX : undefined } = options;
      const ascending = store.pets.list({ status, limit });
      const listed = switches.newest ? ascending.toReversed() : ascending;
      let page = await listed.page();
      if (page.pets.length === 0) io.stderr.write('There are no animals to show.\n');
      print(page.pets);
      while (switches.all && page.nextCursor !== undefined) {
        page = await listed.page(page.nextCursor);
        print(page.pets);
      }
      if (page.nextCursor !== undefined) {
        io.stderr.write('There are more animals: --all shows them.\n');
      }
    }),
});

const add = defineCommand({
  purpose: 'Add an animal',
  options: {
    name: {
      value: 'NAME',
      isRequired: true,
      description: 'the name of the animal',
      parse: (text: string) => text,
      mustBe: 'a name',
    },
    'category-id': { ...INT64, isRequired: true, description: 'the category of the animal' },
    status: { ...STATUS, defaultText: 'available', description: 'the status of the animal' },
    ...SERVICE_OPTIONS,
  },
  switches: SWITCHES,
  notes: NOTES,
  examples: [
    'pets add --name Rex --category-id 7',
    'pets add --name Tom --category-id -5 --status pending --json',
  ],
  action: ({ options: { name, 'category-id': categoryId, status, ...options }, switches, io }) =>
    withService(options['base-url'], switches.json, io, async (store, print) => {
      print([await store.pets.create({ name, categoryId, status })]);
    }),
});

const get = defineCommand({
  purpose: 'Show one animal (deprecated: it ends on 5 December 2030)',
  arguments: [{ name: 'ID', description: 'the id of the animal' }],
  options: SERVICE_OPTIONS,
  switches: SWITCHES,
  notes: NOTES,
  examples: ['pets get 1', 'pets get 1 --json'],
  action: ({ arguments: [text = ''], options, switches, io }) => {
    const id = parseValue('ID', INT64, text);
    return withService(options['base-url'], switches.json, io, async (store, print) => {
      print([await store.pets.get(id)]);
    });
  },
});

export const pets: CommandGroup = {
  purpose: 'List, add and get animals of a running service',
  worksOn: 'service',
  instead: {
    delete: 'catalogue remove ID',
    remove: 'catalogue remove ID',
    update: 'catalogue set-status ID --to STATUS',
    set: 'catalogue set-status ID --to STATUS',
    'set-status': 'catalogue set-status ID --to STATUS',
  },
  commands: { list, add, get },
};

/** Calls the service over HTTP, like any other client. */
async function withService(
  baseUrl: string,
  asJson: boolean,
  io: Io,
  work: (store: PetStore, print: PetPrinter) => Promise<void>,
): Promise<number> {
  const apiKey = requireApiKey(io);
  const warn = (message: string): void => {
    const remedy = `Use ${programName(io.env)} pets list --status STATUS instead.`;
    io.stderr.write(`petstore: ${printable(deprecationText(message))} ${remedy}\n`);
  };
  try {
    const print = asJson ? newJsonPrinter(io.stdout) : newTablePrinter(io);
    await work(new PetStore({ baseUrl, apiKey, warn }), print);
    return 0;
  } catch (error) {
    if (!(error instanceof PetStoreError)) throw error;
    const request = error.requestId === undefined ? '' : `, request ${error.requestId}`;
    io.stderr.write(`petstore: ${printable(`${error.message} (${error.code}${request})`)}\n`);
    return 1;
  }
}

/** The value is a secret, so no message repeats it. */
function requireApiKey({ env }: Io): string {
  const apiKey = env['PETSTORE_API_KEY'] ?? '';
  if (apiKey === '') throw new UsageError(missingKeyText('PETSTORE_API_KEY', env));
  if (/^[\x21-\x7e]+$/.test(apiKey)) return apiKey;
  throw new UsageError(
    `PETSTORE_API_KEY is not a key: it must be one that ${programName(env)} keys create printed.`,
  );
}

/** The notice of the client library has the date as in the header. This writes it as people do. */
function deprecationText(message: string): string {
  const [, start, end = '', page = ''] =
    /^petstore-client: (.+ ends on) (.+?)\. ?(\S*)$/.exec(message) ?? [];
  const date = new Date(end);
  if (start === undefined || Number.isNaN(date.getTime())) return message;
  const day = date.toLocaleDateString('en-GB', { dateStyle: 'long', timeZone: 'UTC' });
  return `${start} ${day}${page === '' ? '' : ` (see ${page})`}.`;
}
