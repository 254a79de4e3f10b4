// Stories of people at the pages. A story is a block of a text file: `> ` begins what a person does, and below it stands
// what is then new on the page, as view.js sees it, with the requests that the page has sent. A dash before a part: it is
// gone. The browser has as much time for a step as it needs; UPDATE=1 records what is there once the page is quiet.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { BrowserContext, Locator, Page, Request, Response, Route } from 'playwright-core';
import type { TestStorage } from '../../harness/test-service.ts';
import type { NewPet } from '../../sdk/src/index.ts';
import { Recording } from '../golden/recording.ts';
import { Stage, test, visit } from './stage.ts';

const VIEW = readFileSync(new URL('view.js', import.meta.url), 'utf8');
const STATUSES = ['available', 'pending', 'sold'] as const;
/** The interface, and the modules of the console. */
const OURS = /\/(?:v1|console)\//;
const BODY_MAX = 200;
const LINES_MAX = 12;
const KEY_LENGTH = 45;
/** What is recorded of another page than before. */
const FIRST = new Set([
  'address',
  'stored',
  'focus',
  'not-loaded',
  'page-message',
  'key-fault',
  'access-note',
  'who',
  'workspace',
  'place',
  'rows',
  'list-message',
  'animal-title',
]);
const WORD = /\{.*?\}(?= |$)|"(?:[^"\\]|\\.)*"|\S+/g;
const STEP_MS_MAX = 20_000;
const POLL_MS_MIN = 20;
const POLL_MS_MAX = 200;
/** After this time, something that should not happen would be seen; and for recording, whatever happens. */
const QUIET_MS = 400;
const RECORDED_MS = 1_100;

/** Steps that no page sees. */
const NOT_SEEN = new Set([
  'shop',
  'petstore',
  'stop',
  'start',
  'change-store',
  'stored',
  'clipboard',
  'look',
  'allow',
]);

/** What the network does to the requests whose method and address contain these words, so many times. */
interface Rule {
  words: readonly string[];
  does: string;
  times: number;
  held: PromiseWithResolvers<void>;
}

const isUpdate = process.env['UPDATE'] === '1';

/** A test for each story of a file, or for those whose title has a text. Another store than SQLite records nothing. */
export function runStories(file: URL, storage?: TestStorage, only = ''): void {
  const recording = new Recording(file, (line) => line.startsWith('> '));
  for (const block of recording.blocks.filter(({ title }) => title.includes(only))) {
    test(block.title, async (t) => {
      const story = new Story(t, storage);
      const found: string[] = [];
      for (const [at, line] of block.lines.entries()) {
        if (!line.startsWith('> ')) continue;
        const rest = block.lines.slice(at + 1);
        const end = rest.findIndex((each) => each.startsWith('> '));
        const recorded = end === -1 ? rest : rest.slice(0, end);
        found.push(line, ...(await story.step(line.slice(2), recorded)));
        // What follows makes no sense any more.
        if (!isUpdate && !isDeepStrictEqual(found, block.lines.slice(0, found.length))) break;
      }
      recording.check(block, found, { mayRecord: storage === undefined });
    });
  }
}

interface Sent {
  line: string;
  outcome: string;
  request: Request;
}

type View = Record<string, string>;

class Story {
  readonly #t: TestContext;
  readonly #storage: TestStorage | undefined;
  #stage: Stage | undefined;
  #context: BrowserContext | undefined;
  readonly #windows: Page[] = [];
  #window = 0;
  readonly #views = new Map<Page, View>();
  #sent: Sent[] = [];
  readonly #idempotencyKeys = new Set<string>();
  /** Those that were made for this story. */
  readonly keys: string[] = [];
  #rules: Rule[] = [];
  isClockStopped = false;

  constructor(t: TestContext, storage?: TestStorage) {
    this.#t = t;
    this.#storage = storage;
  }

  get stage(): Stage {
    return this.#stage ?? assert.fail('A story begins with "shop".');
  }

  get page(): Page {
    return this.#windows[this.#window] ?? assert.fail('"go" opens the first page.');
  }

  /** The dialog on top, or the page. */
  get scope(): Locator {
    return this.page.locator('body:not(:has(dialog[open])), dialog[open]').last();
  }

  /** Does a step, and returns what is new then. */
  async step(line: string, recorded: readonly string[]): Promise<string[]> {
    const [verb = '', ...words] = (line.match(WORD) ?? []).map((word) => this.#expand(word));
    this.#sent = [];
    const told = (await VERBS[verb]?.(this, ...words)) ?? [];
    const printed = [told].flat().map((text) => this.#printable(`  = ${text}`));
    if (this.#windows.length === 0) return printed;
    const page = this.page;
    let pollMs = POLL_MS_MIN;
    let since = performance.now();
    const deadline = since + STEP_MS_MAX;
    let news: string[] = [];
    let view: View = {};
    for (;;) {
      view = await viewOf(page, view);
      // What is said goes away after ten seconds, which a slow machine may take for a few steps.
      const { toast } = this.#views.get(page) ?? {};
      if (toast !== undefined && !this.isClockStopped) view['toast'] ??= toast;
      const now = [...printed, ...this.#newsOf(view)];
      if (!isDeepStrictEqual(now, news)) since = performance.now();
      news = now;
      const isCalm = news.every((each) => /^  (?:=|sent )/.test(each)) && !NOT_SEEN.has(verb);
      const quietMs = isUpdate ? RECORDED_MS : isCalm ? QUIET_MS : 0;
      const isDone = isUpdate || isDeepStrictEqual(news, recorded);
      if (performance.now() > deadline) break;
      if (isDone && performance.now() - since >= quietMs) break;
      await sleep(pollMs);
      pollMs = Math.min(2 * pollMs, POLL_MS_MAX);
    }
    this.#views.set(page, view);
    return news;
  }

  #newsOf(view: View): string[] {
    const before = this.#views.get(this.page) ?? {};
    const parts = Object.entries(view).filter(([part, text]) => before[part] !== text);
    const gone = Object.keys(before).filter((part) => view[part] === undefined);
    const isNews = (part: string) => !isOther(before, view) || FIRST.has(part);
    return [
      ...gone.filter(isNews).map((part) => `  - ${part}`),
      ...parts
        .filter(([part]) => isNews(part))
        .map(([part, text]) => this.#printable(`  ${part}: ${text}`)),
      ...few(this.#sent.map(({ line, outcome }) => this.#printable(`  sent ${line}: ${outcome}`))),
    ];
  }

  #expand(word: string): string {
    const text = word.startsWith('"') ? (JSON.parse(word) as string) : word;
    const key = this.#stage?.key ?? '';
    return text
      .replaceAll('<key>', key)
      .replaceAll('<half of the key>', key.slice(0, 44))
      .replaceAll('<wrong key>', `${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`)
      .replaceAll(/<([^<>]+)\*(\d+)>/gu, (_, unit: string, count) => unit.repeat(Number(count)));
  }

  /** What differs in each run has a name, and what cannot be seen its number. */
  #printable(text: string): string {
    const { site, key } = this.stage;
    const ends = [key, ...this.keys].map((each) => each.slice(-4)).join('|');
    return text
      .replaceAll(site, '<site>')
      .replaceAll(key, '<key>')
      .replaceAll(new RegExp(`(?<=pet_\\w+_…)(?:${ends})`, 'g'), '<end of the key>')
      .replaceAll(/[\p{Cc}\p{Bidi_Control}\uFEFF]/gu, (sign) => {
        return `<${sign.codePointAt(0)?.toString(16)}>`;
      });
  }

  /** A service with these animals: so many, or those with these names or fields. */
  async open(words: readonly string[]): Promise<void> {
    const flags = words.findIndex((word) => word.startsWith('--'));
    const [pets, rest] = flags === -1 ? [words, []] : [words.slice(0, flags), words.slice(flags)];
    const { flags: place = [] } = (await this.#storage?.newDatabase()) ?? {};
    this.#stage = await Stage.open(this.#t, { flags: [...rest, ...place], pets: petsOf(pets) });
  }

  async go(path = '/', size = '1280x720'): Promise<void> {
    if (this.#windows.length > 0) return void (await this.page.goto(this.stage.site + path));
    const [width = 0, height = 0] = size.split('x').map(Number);
    const { page, context } = await visit(this.#t, this.stage, {
      path,
      viewport: { width, height },
    });
    this.#context = context;
    this.#windows.push(page);
    this.#record(context);
  }

  /** Keeps what the pages send to the interface, and what comes of it. */
  #record(context: BrowserContext): void {
    const begin = (request: Request) => {
      const { pathname, search } = new URL(request.url());
      if (!/^\/(?:v1|console)\//.test(pathname)) return;
      const key = request.headers()['idempotency-key'];
      if (key !== undefined) this.#idempotencyKeys.add(key);
      const number = [...this.#idempotencyKeys].indexOf(key ?? '') + 1;
      const words = [request.method(), pathname + search, request.postData()?.slice(0, BODY_MAX)];
      if (number > 0) words.push(`with key ${number}`);
      this.#sent.push({ line: words.filter(Boolean).join(' '), outcome: '…', request });
    };
    const end = (request: Request, outcome: string) => {
      const entry = this.#sent.find((each) => each.request === request);
      // A page need not read the body of a response.
      if (entry !== undefined && !/^\d/.test(entry.outcome)) entry.outcome = outcome;
    };
    const answered = (response: Response) => end(response.request(), String(response.status()));
    const failed = (request: Request) => end(request, 'failed');
    context.on('request', begin).on('response', answered).on('requestfailed', failed);
    this.#t.after(() => {
      context.off('request', begin).off('response', answered).off('requestfailed', failed);
    });
  }

  async window(number: number, path = '/'): Promise<void> {
    this.#window = number - 1;
    if (this.#windows.length <= this.#window) {
      const page = await this.#context?.newPage();
      if (page !== undefined) this.#windows.push(page);
      await page?.goto(this.stage.site + path);
    }
    await this.page.bringToFront();
  }

  /** From now on, the network does this to requests with these words in their method and address. */
  async network(does: string, words: readonly string[]): Promise<void> {
    if (does === 'pass') {
      const passing = this.#rules.filter((rule) =>
        words.every((word) => rule.words.includes(word)),
      );
      for (const { held } of passing) held.resolve();
      this.#rules = this.#rules.filter((rule) => !passing.includes(rule));
      return;
    }
    const times = Number(/^x(\d+)$/.exec(words.at(-1) ?? '')?.[1] ?? Number.POSITIVE_INFINITY);
    const held = Promise.withResolvers<void>();
    this.#rules.push({ does, words: words.filter((word) => !/^x\d+$/.test(word)), times, held });
    await this.page.unroute(OURS);
    await this.page.route(OURS, this.#route);
  }

  readonly #route = async (route: Route): Promise<void> => {
    const request = route.request();
    const address = `${request.method()} ${request.url()}`;
    const rule = this.#rules.find(
      ({ words, times }) => times > 0 && words.every((word) => address.includes(word)),
    );
    if (rule === undefined) return route.fallback();
    rule.times -= 1;
    if (rule.does === 'cut') return route.abort('connectionrefused');
    const [, status, code = 'some_code'] = /^(\d+):?(\w+)?$/.exec(rule.does) ?? [];
    if (status !== undefined) {
      // It begins with the name of a field, but says nothing about that.
      const error = { code, message: 'name lookups are busy.', status: Number(status) };
      const headers = { 'Retry-After': '0', 'X-Request-Id': 'request-1' };
      return route.fulfill({ status: error.status, headers, json: error });
    }
    if (rule.does === 'html')
      return route.fulfill({ body: '<h1>A proxy</h1>', contentType: 'text/html' });
    const response = await route.fetch();
    if (rule.does === 'lose') return route.abort('connectionreset');
    const entry = this.#sent.find((each) => each.request === request);
    if (entry !== undefined) entry.outcome = 'held';
    await rule.held.promise;
    // The page may have cancelled the request.
    return route.fulfill({ response }).catch(() => undefined);
  };
}

/** Another page, or what a key opens. */
function isOther(before: View, now: View): boolean {
  const [earlier, path] = [before, now].map(({ address }) => address?.split(/[?#]/)[0]);
  return earlier !== path || 'key-form' in before !== 'key-form' in now;
}

/** The page may be between two addresses. */
async function viewOf(page: Page, before: View): Promise<View> {
  return page.evaluate<View>(VIEW).catch(() => before);
}

function parsePet(text: string): NewPet {
  const { categoryId, ...others } = JSON.parse(text.replace(/(?<=:)-?\d+/, '"$&"')) as NewPet;
  return { ...others, categoryId: BigInt(categoryId) };
}

/** `20`, `20:sold`, `Bella` or the fields of one as JSON. */
function petsOf(words: readonly string[]): NewPet[] {
  const pets: NewPet[] = [];
  for (const word of words) {
    const [, count, status] = /^(\d+)(?::(\w+))?$/.exec(word) ?? [];
    if (word.startsWith('{')) pets.push(parsePet(word));
    else if (count === undefined) pets.push({ name: word, categoryId: 7 });
    for (let more = 0; more < Number(count ?? 0); more += 1) {
      const at = pets.length;
      const own = STATUSES.find((each) => each === status) ?? STATUSES[at % 3] ?? 'sold';
      pets.push({ name: `Animal ${at + 1}`, categoryId: 7, status: own });
    }
  }
  return pets;
}

/** A list for the card, of which the lines with these numbers are faulty. */
function listOf(name: string, count: number, faulty: readonly number[]): string {
  const lines = Array.from({ length: count }, (_, at) => {
    return `${name} ${at},${faulty.includes(at) ? 'seven' : at}`;
  });
  return `name,categoryId\n${lines.join('\n')}\n`;
}

/** The first, the last and the number of many. */
function few(lines: readonly string[]): readonly string[] {
  const isLong = lines.length > LINES_MAX;
  return isLong ? [...lines.slice(0, 3), `  … ${lines.length} lines`, ...lines.slice(-3)] : lines;
}

/** A button, a link, or what else has this label. */
function control({ scope }: Story, label: string, below = ':scope'): Locator {
  const part = below === ':scope' ? scope : scope.locator(below);
  const text = new RegExp(`^\\s*${RegExp.escape(label)}\\s*$`);
  return part
    .getByRole('button', { name: label, exact: true })
    .or(part.getByRole('link', { name: label, exact: true }))
    .or(part.locator('summary, label', { hasText: text }))
    .filter({ visible: true })
    .first();
}

const field = ({ scope }: Story, label: string) =>
  scope
    .getByLabel(label, { exact: true })
    .or(scope.getByRole('combobox', { name: label, exact: true }))
    .filter({ visible: true })
    .first();

/** What a step prints. */
type Told = readonly string[] | string | null | void;

type Verb = (story: Story, ...words: string[]) => Promise<Told>;

const VERBS: Readonly<Record<string, Verb>> = {
  shop: (story, ...words) => story.open(words),
  go: (story, path, size) => story.go(path, size),
  window: (story, number, path) => story.window(Number(number), path),
  // Somebody else opens the address of the first window.
  link: async (story) => {
    await story.window(1);
    const { pathname, search } = new URL(story.page.url());
    await story.window(2);
    await story.page.goto(story.stage.site + pathname + search);
  },
  'sign-in': async (story, word = story.stage.key) => {
    const key = word.startsWith('pets:') ? await story.stage.newKey(word) : word;
    if (key.length === KEY_LENGTH) story.keys.push(key);
    await story.page.getByLabel('API key').fill(key);
    await control(story, 'Open the catalogue').click();
  },
  begin: async (story, path, size) => {
    await story.go(path, size);
    await VERBS['sign-in']?.(story);
  },
  press: (story, label = '', below = ':scope') => control(story, label, below).click(),
  // Also one that is off.
  force: (story, label = '') => control(story, label).click({ force: true }),
  'press-again': async ({ page }) => {
    await page.mouse.down({ clickCount: 2 });
    await page.mouse.up({ clickCount: 2 });
  },
  'press-below': ({ page }, selector = '') => page.locator(selector).click(),
  'double-press': (story, label = '') => control(story, label).dblclick(),
  fill: (story, label = '', text = '') => field(story, label).fill(text),
  // In a list, or of the statuses that a button offers.
  choose: async (story, label = '', option = '') => {
    const list = story.scope.getByRole('combobox', { name: label, exact: true });
    if ((await list.count()) > 0) {
      await list.focus();
      await list.selectOption(option);
    } else {
      await story.scope.getByRole('button', { name: `${label}:` }).click();
      await control(story, option, '#statuses').click();
    }
  },
  check: (story, label = '') => field(story, label).click(),
  'check-to': (story, label = '') => field(story, label).click({ modifiers: ['Shift'] }),
  find: async ({ page }, text = '') => {
    await page.locator('#find-text').fill(text);
    await page.keyboard.press('Enter');
  },
  focus: (story, label = '') => control(story, label).or(field(story, label)).first().focus(),
  hover: ({ page }, selector = '') => page.locator(selector).hover(),
  'stop-clock': async (story) => {
    await story.page.clock.install();
    await story.page.clock.pauseAt(new Date(Date.now() + 1_000));
    story.isClockStopped = true;
  },
  next: async ({ page }) => void (await page.goForward()),
  forward: ({ page }, ms) => page.clock.fastForward(Number(ms)),
  list: ({ page }, name = '', count = '', ...faulty) => {
    return paste(page, listOf(name, Number(count), faulty.map(Number)));
  },
  paste: ({ page }, text = '') => paste(page, text),
  file: async (story, name = '', text = '', encoding = 'utf8') => {
    const chooser = story.page.waitForEvent('filechooser');
    await control(story, 'Choose a file').click();
    const buffer = Buffer.from(text, encoding as BufferEncoding);
    await (await chooser).setFiles({ name, mimeType: 'text/csv', buffer });
  },
  size: ({ page }, width, height) =>
    page.setViewportSize({ width: Number(width), height: Number(height) }),
  allow: ({ page }) => page.context().grantPermissions(['clipboard-read', 'clipboard-write']),
  'sign-in-as-told': async (story) => {
    const command = (await story.page.locator('#access-note code').textContent()) ?? '';
    await control(story, 'Use another key').click();
    const [program, ...args] = command.replace('NAME', 'counter').split(' ');
    assert.equal(program, 'petstore');
    const key = await story.stage.run([...args, ...story.stage.place.slice(0, 2)]);
    await VERBS['sign-in']?.(story, key);
  },
  key: async ({ page }, ...keys) => {
    for (const key of keys) await page.keyboard.press(key);
  },
  type: ({ page }, text = '') => page.keyboard.insertText(text),
  tab: (story, ...words) => tabTo(story.page, words),
  back: async ({ page }) => void (await page.goBack()),
  reload: async ({ page }, until) => {
    await page.reload();
    if (until !== undefined) await page.locator(until).waitFor();
  },
  close: (story) => story.page.close(),
  network: (story, does = '', ...words) => story.network(does, words),
  stop: ({ stage }) => stage.stop(),
  start: ({ stage }) => stage.start(),
  'change-store': async ({ stage }) => stage.changeStore(),
  // A command of whoever runs the service.
  petstore: async ({ stage }, ...words) => void (await stage.run([...words, ...stage.place])),
  page: async ({ page }, code = '') => {
    const value = await page.evaluate(code);
    return value === undefined ? [] : JSON.stringify(value);
  },
  clipboard: ({ page }) => page.evaluate('navigator.clipboard.readText()'),
  look: async ({ page }, selector = 'main') => {
    const parts = await page.locator(selector).filter({ visible: true }).all();
    const texts = await Promise.all(parts.map((part) => part.ariaSnapshot()));
    return texts.join('\n').split('\n');
  },
  save: async (story, label = '') => {
    const download = story.page.waitForEvent('download');
    await control(story, label).click();
    const file = await download;
    const text = await readFile(await file.path(), 'utf8');
    return [file.suggestedFilename(), ...few(text.split(/(?<=\r\n)/))];
  },
  stored: async ({ stage }) => {
    const pets = await stage.client().pets.list({ limit: 100 }).toArray();
    return few(pets.map((pet) => Object.values(pet).join(' ')));
  },
};

/** As a paste: a browser types thousands of lines in half a minute. */
async function paste(page: Page, text: string): Promise<void> {
  const set = `all.value = ${JSON.stringify(text)}; all.dispatchEvent(new Event('input'));`;
  await page.evaluate(`((all) => { ${set} })(document.querySelector('#many-text'))`);
}

const TABS_MAX = 120;

/** Tab leads to the control, and every control on the way shows that it has the focus. */
async function tabTo(page: Page, words: readonly string[]): Promise<void> {
  const [key = '', wanted] = [words.at(-1), words.slice(0, -1).join(' ')];
  for (let tabs = 0; tabs < TABS_MAX; tabs += 1) {
    await page.keyboard.press('Tab');
    const ring = await page.evaluate(`(() => {
      const at = document.activeElement;
      const { outlineStyle } = getComputedStyle(at.type === 'radio' ? at.parentElement : at);
      // After the last control of a dialog comes the browser itself.
      return at === document.body || outlineStyle !== 'none';
    })()`);
    const { focus } = await viewOf(page, {});
    assert.ok(ring, `no focus ring on ${focus}`);
    if (focus === wanted) return page.keyboard.press(key);
  }
  assert.fail(`Tab does not lead to ${wanted}.`);
}
