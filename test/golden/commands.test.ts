// Every command of commands/*.txt prints exactly what stands below it: two blanks begin standard output, `!` standard
// error, `[2]` is the exit code. `$` runs a command (`tty60`: on a terminal of 60 columns; `NAME=value`: with this
// variable; `<< yes|`: this is typed, and `|` ends a line), `=` prepares something. `<key1>` is the first key that was
// shown below the heading, `<x*255>` is 255 times x.

import { createHash } from 'node:crypto';
import { globSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Readable } from 'node:stream';
import { test, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { startTestService, storageOf } from '../../harness/test-service.ts';
import type { CommandIo } from '../../src/cli/command.ts';
import { COMMANDS } from '../../src/cli/commands.ts';
import { executeOrExplain } from '../../src/cli/run.ts';
import { openStoreByFlags } from '../../src/cli/store-flags.ts';
import { newApiKey, newSecret } from '../../src/domain/api-key.ts';
import { VERSION } from '../../src/ops/installation.ts';
import { Recording } from './recording.ts';

const FOLDER = join(import.meta.dirname, 'commands');
const START_MS = Date.parse('2030-01-01T00:00:00Z');
const SECOND_MS = 1_000;
const WORD = /(?:'[^']*'|"(?:[^"\\]|\\.)*"|[^\s'"])+/g;
const KEY_ID = /key_\w{10}/g;
const DATA = '<DATA>';

/** What the commands below one heading share: a folder, a clock, and random numbers that are always the same. */
class Session {
  readonly env: Record<string, string>;
  readonly #t: TestContext;
  readonly #folder: string;
  readonly #keys: string[] = [];
  /** What is another text in each run, by its name in the recording. */
  readonly #names: Map<string, string>;
  #nowMs = START_MS;
  #elapsedMs = 0;
  #drawn = 0;

  constructor(t: TestContext) {
    this.#t = t;
    this.#folder = temporaryFolder(t);
    this.env = { PETSTORE_DATA: this.#folder };
    this.#names = new Map([
      [DATA, this.#folder],
      ['<VERSION>', `petstore ${VERSION}`],
      ['<NODE>', process.version.slice(1)],
      ['<SQLITE>', String(process.versions.sqlite)],
    ]);
  }

  #expand(text: string): string {
    let full = text.replaceAll(/<key(\d+)>/g, (_, at) => this.#keys[Number(at) - 1] ?? 'no key');
    for (const [name, value] of this.#names) full = full.replaceAll(name, value);
    return full.replaceAll(/<([^<>]+)\*(\d+)>/g, (_, unit: string, count: string) =>
      unit.repeat(Number(count)),
    );
  }

  #told(text: string, mark: string): string[] {
    for (const [id] of text.matchAll(KEY_ID)) if (!this.#keys.includes(id)) this.#keys.push(id);
    let plain = text;
    for (const [name, value] of this.#names) plain = plain.replaceAll(value, name);
    const shown = plain.replaceAll(
      /[[\p{Cc}\p{Bidi_Control}\uFEFF]--\n]/gv,
      (sign) => `<${sign.codePointAt(0)?.toString(16)}>`,
    );
    if (text === '') return [];
    const isWhole = shown.endsWith('\n');
    const lines = (isWhole ? shown.slice(0, -1) : `${shown}<no newline>`).split('\n');
    return lines.map((line) => `${mark}${line}`.trimEnd());
  }

  #io(): CommandIo {
    const randomBytes = (count: number) => {
      this.#drawn += 1;
      return createHash('shake256', { outputLength: count }).update(`${this.#drawn}`).digest();
    };
    const clock = {
      now: () => new Date(this.#nowMs),
      elapsedMs: () => (this.#elapsedMs += SECOND_MS),
    };
    const output = { write: () => true };
    return { env: this.env, stdout: output, stderr: output, clock, randomBytes };
  }

  /** Runs one line: settings such as `tty60` and `NAME=value`, a command, and what is typed. */
  async run(line: string): Promise<string[]> {
    const [command = '', typed] = line.split(/ << ?/);
    const words = [...command.matchAll(WORD)].map(([word]) => this.#expand(unquoted(word)));
    const env = { ...this.env };
    let terminal: { isTTY?: boolean; columns?: number } = {};
    for (; words[0] !== undefined && words[0] !== 'petstore'; words.shift()) {
      const [, name, value = ''] = /^([A-Z_\d]+)=([^]*)$/.exec(words[0]) ?? [];
      if (name !== undefined) env[name] = value;
      else terminal = { isTTY: true, columns: Number(words[0].replace('tty', '')) };
    }
    let [lines, errors] = ['', ''];
    const bytes = Buffer.from(this.#expand(typed ?? '').replaceAll('|', '\n'));
    const isTerminal = terminal.isTTY === true;
    this.#nowMs += SECOND_MS;
    const code = await executeOrExplain(COMMANDS, words.slice(1), {
      ...this.#io(),
      env,
      stdin: Object.assign(Readable.from([bytes]), { isTTY: isTerminal }),
      stdout: { ...terminal, write: (text) => (lines += text) },
      stderr: { ...terminal, write: (text) => (errors += text) },
    });
    return [
      ...this.#told(lines, '  '),
      ...this.#told(errors, '! '),
      ...(code === 0 ? [] : [`[${code}]`]),
    ];
  }

  /** A line that begins with `=` prepares something. */
  async prepare(line: string): Promise<void> {
    const [, what = '', rest = ''] = /^= (\w+) ?(.*)$/.exec(line) ?? [];
    const [first = '', text = ''] = rest.split(/ (.*)/);
    if (what === 'file' || what === 'latin1') {
      const file = this.#expand(first);
      mkdirSync(dirname(file), { recursive: true });
      const content = this.#expand(unquoted(text)).replaceAll('|', '\n');
      writeFileSync(file, content, what === 'file' ? 'utf8' : 'latin1');
    } else if (what === 'sql') {
      using database = new DatabaseSync(this.#expand(first));
      database.exec(text);
    } else if (what === 'animals') await this.#addAnimals(Number(first), text || 'Rex');
    else if (what === 'key') await this.#addKey(first, text);
    else if (what === 'wait') this.#nowMs += Number(first) * SECOND_MS;
    else if (what === 'service') await this.#startService();
    else throw new Error(`no such preparation: ${line}`);
  }

  async #addAnimals(count: number, name: string): Promise<void> {
    const { store } = await openStoreByFlags({}, this.#io(), { create: true });
    const pet = {
      name: this.#expand(unquoted(name)),
      categoryId: 7n,
      status: 'available',
    } as const;
    await store.importPets(Array.from({ length: count }, () => pet));
    await store.close();
  }

  async #addKey(created: string, expires: string): Promise<void> {
    const io = this.#io();
    const { store } = await openStoreByFlags({}, io, { create: true });
    const key = newApiKey({
      secret: newSecret('production', io.randomBytes),
      name: 'shop',
      now: new Date(created),
      expiresAt: expires === '' ? undefined : new Date(expires),
      randomBytes: io.randomBytes,
    });
    this.#keys.push(key.id);
    await store.createApiKey(key);
    await store.close();
  }

  async #startService(): Promise<void> {
    const service = await startTestService(storageOf('--data', this.#folder));
    this.#t.after(() => service.close());
    this.#names.set('<PORT>', new URL(service.baseUrl).port);
  }
}

/** As a shell does it, but a text in double quotes is one of JSON. */
function unquoted(word: string): string {
  return word.replaceAll(/'([^']*)'|("(?:[^"\\]|\\.)*")/g, (_, single?: string, double?: string) =>
    double === undefined ? (single ?? '') : (JSON.parse(double) as string),
  );
}

for (const file of globSync('*.txt', { cwd: FOLDER }).toSorted()) {
  const recording = new Recording(pathToFileURL(join(FOLDER, file)), (line) => /^[$=] /.test(line));
  for (const block of recording.blocks) {
    test(`${file.replace('.txt', '')} › ${block.title}`, async (t) => {
      const session = new Session(t);
      const found: string[] = [];
      for (const line of recording.sentIn(block)) {
        found.push(line);
        if (line.startsWith('$ ')) found.push(...(await session.run(line.slice(2))));
        else await session.prepare(line);
      }
      recording.check(block, found);
    });
  }
}
