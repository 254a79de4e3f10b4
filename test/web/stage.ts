import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test as testOf, type TestContext } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Page,
} from 'playwright-core';
import { PetStore, type NewPet } from '../../sdk/src/index.ts';
import { COMMANDS } from '../../src/cli/commands.ts';
import { execute } from '../../src/cli/execute.ts';
import { loadConfig, type Config } from '../../src/config.ts';
import { siteOf } from '../../src/http/target.ts';
import { openLog } from '../../src/ops/log.ts';
import { openConfiguredStore } from '../../src/open-store.ts';
import { startService, type Service } from '../../src/service.ts';
import { flagsOf } from '../../harness/test-service.ts';
import { findChromium, NEEDS_CHROMIUM } from '../../harness/chromium.ts';

export const ARTIFACTS = new URL('../../artifacts/', import.meta.url).pathname;
const AXE_SOURCE = readFileSync(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
);
/** The machine may be busy, so an action has much time. */
const ACTION_TIMEOUT_MS = 30_000;

/**
 * Prevents the browser from using the network: it may load only the pages of this machine. One renderer for all pages
 * saves a quarter of the processor time.
 */
const BROWSER_FLAGS = [
  '--renderer-process-limit=1',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
];

let running: Promise<Browser> | undefined;
const fileStages: Stage[] = [];
/** Services that close: each waits a second for the open connections of the browser. The next test does not. */
const closing: Promise<void>[] = [];
after(async () => {
  await (await running)?.close();
  await Stage.closeOfFile();
  await Promise.all(closing);
});

/** One browser for all tests of this process. */
function browser(): Promise<Browser> {
  const found = findChromium();
  running ??= chromium.launch({ ...found, args: [...BROWSER_FLAGS, ...(found?.args ?? [])] });
  return running;
}

/** A test of a page. Without a browser, or what else it needs, it is skipped. */
export function test(
  title: string,
  body: (t: TestContext) => Promise<void>,
  skip: string | false = false,
): void {
  void testOf(title, { skip: NEEDS_CHROMIUM || skip }, body);
}

interface StageOptions {
  flags?: string[];
  pets?: NewPet[];
}

/** One service for all tests of a file, which starts when the first of them needs it. */
export function stageOfFile(options: StageOptions = {}): () => Promise<Stage> {
  let opened: Promise<Stage> | undefined;
  return () => (opened ??= Stage.forFile(options));
}

/** A running service with its own empty store, and the pages that tests open on it. */
export class Stage {
  readonly #folder = mkdtempSync(join(tmpdir(), 'petstore-browser-'));
  readonly #flags: string[];
  #service: Service | undefined;
  /** The name of the data folder; another name means another store. */
  #store = 'first';
  key = '';
  site = '';

  private constructor(flags: string[]) {
    this.#flags = flags;
  }

  static async open(t: TestContext, options: StageOptions = {}) {
    const stage = new Stage(options.flags ?? []);
    t.after(() => {
      closing.push(stage.#close());
    });
    await stage.start();
    if (options.pets !== undefined) await stage.#add(options.pets);
    return stage;
  }

  /** One service for all tests of a file. */
  static async forFile(options: StageOptions): Promise<Stage> {
    const stage = new Stage(options.flags ?? []);
    fileStages.push(stage);
    await stage.start();
    if (options.pets !== undefined) await stage.#add(options.pets);
    return stage;
  }

  static async closeOfFile(): Promise<void> {
    await Promise.all(fileStages.map((stage) => stage.#close()));
  }

  /** The address of the admin port, if a flag has set it. */
  get admin(): string {
    return this.#service?.adminUrl ?? '';
  }

  /** What the service counts about itself. */
  readonly figures = () => this.#service?.figures() ?? [];

  /** The flags that lead a command to the store. A database is in its environment. */
  get place(): string[] {
    const data = this.#database === undefined ? ['--data', this.data] : [];
    return [...data, '--env', this.#config().environment];
  }

  /** The PostgreSQL that a flag names. */
  get #database(): string | undefined {
    const at = this.#flags.indexOf('--database');
    return at === -1 ? undefined : this.#flags[at + 1];
  }

  get data(): string {
    return join(this.#folder, this.#store);
  }

  client(key = this.key): PetStore {
    return new PetStore({ baseUrl: `${this.site}/v1`, apiKey: key, warn: () => undefined });
  }

  #config(): Config {
    const port = this.site === '' ? '0' : new URL(this.site).port;
    const fixed = ['--port', port, '--admin-port', 'off', '--data', this.data, '--log', 'silent'];
    return loadConfig(flagsOf([...fixed, ...this.#flags]), {});
  }

  /** In one transaction, as an import does: a request for each animal takes more time than most tests. */
  async #add(pets: readonly NewPet[]): Promise<void> {
    const store = await openConfiguredStore(this.#config());
    await store.importPets(
      pets.map(({ name, categoryId, status = 'available' }) => {
        return { name, categoryId: BigInt(categoryId), status };
      }),
    );
    await store.close();
  }

  /** Starts the service. A later start uses the same port as the first. */
  async start(): Promise<void> {
    this.#service = await startService(this.#config(), {
      clock: { now: () => new Date(), elapsedMs: () => performance.now() },
      randomBytes,
      // Pages show it, and a recording must be the same twice.
      newRequestId: () => 'request-1',
      isWorker: false,
      log: openLog('silent', process.stderr),
    });
    this.key = this.#service.firstKey ?? this.key;
    this.site = siteOf(this.#service.baseUrl);
  }

  async stop(): Promise<void> {
    await this.#service?.close();
    this.#service = undefined;
  }

  /** From the next start, the service uses another store, which has none of the earlier keys. */
  changeStore(): void {
    this.#store = 'second';
  }

  /** Creates a key with the command that an operator would use. */
  newKey(scopes: string): Promise<string> {
    return this.run(['keys', 'create', '--name', 'test', '--scopes', scopes, ...this.place]);
  }

  /** Runs a command as an operator would, and returns what it writes. */
  async run(args: string[]): Promise<string> {
    let written = '';
    const stdout = { write: (text: string) => (written += text) };
    const stderr = { write: () => true };
    const env = this.#database === undefined ? {} : { DATABASE_URL: this.#database };
    assert.equal(await execute(COMMANDS, args, { env, stdout, stderr }), 0, args.join(' '));
    return written.trim();
  }

  async #close(): Promise<void> {
    await this.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

export interface Visit {
  page: Page;
  context: BrowserContext;
  /** What must not happen: script errors, violations of the policy, requests to other hosts. */
  incidents: string[];
}

/** A browser profile with one page. Between visits it shows nothing and stores nothing. */
interface Profile extends Visit {
  /** The address that the page may send requests to. */
  site: string;
}

/** The profile that no test uses at the moment. Chromium takes 0.5 s of processor time to open one. */
let idleProfile: Profile | undefined;
const DEFAULT_VIEWPORT = { width: 1280, height: 720 };

/** Opens a page in a browser profile that stores nothing. An incident on the page fails the test at its end. */
export async function visit(
  t: TestContext,
  stage: Stage,
  options: BrowserContextOptions & { site?: string; path?: string; key?: string } = {},
): Promise<Visit> {
  const { site = stage.site, path = '/', key, viewport, ...contextOptions } = options;
  const isShared = Object.keys(contextOptions).length === 0;
  const profile = (isShared ? idleProfile : undefined) ?? (await openProfile(contextOptions));
  if (isShared) idleProfile = undefined;
  profile.site = site;
  profile.incidents = [];
  const { page, context, incidents } = profile;
  t.after(async () => {
    // A page may refuse to be left, for example during a bulk add.
    if (isShared && t.passed) await leave(profile).catch(() => undefined);
    if (idleProfile !== profile) await context.close();
    assert.deepEqual(incidents, []);
  });
  await page.setViewportSize(viewport ?? DEFAULT_VIEWPORT);
  await page.goto(site + path);
  if (key !== undefined) await signIn(page, key);
  return { page, context, incidents };
}

async function openProfile(options: BrowserContextOptions): Promise<Profile> {
  const context = await (await browser()).newContext({ reducedMotion: 'reduce', ...options });
  context.setDefaultTimeout(ACTION_TIMEOUT_MS);
  const page = await context.newPage();
  const profile: Profile = { page, context, incidents: [], site: '' };
  const report = (incident: string) => profile.incidents.push(incident);
  context.on('request', (request) => {
    if (!request.url().startsWith(profile.site)) report(`request to ${request.url()}`);
  });
  page.on('pageerror', (error) => report(`script error: ${error.message}`));
  page.on('console', (message) => {
    const text = message.text();
    // The browser itself logs each response of 400 and above, and each lost connection.
    if (text.startsWith('Failed to load resource')) return;
    if (message.type() === 'error' || /Content.Security.Policy/i.test(text)) report(text);
  });
  page.on('dialog', (dialog) => {
    report(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  return profile;
}

/** Undoes what a test may do to a profile, and keeps it for the next visit. */
async function leave(profile: Profile): Promise<void> {
  const { page, context } = profile;
  for (const tab of context.pages()) if (tab !== page) await tab.close();
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await context.clearPermissions();
  await page.emulateMedia({ media: null, colorScheme: 'light' });
  await page.evaluate('localStorage.clear(); sessionStorage.clear()');
  // A page that asks before it is left is no incident of the test.
  profile.incidents = [];
  await page.goto('about:blank');
  idleProfile = profile;
}

export async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Open the catalogue' }).click();
}

/** Opens the card for many at once: with the invitation of an empty list, or else with the form. */
export async function openMany(page: Page): Promise<void> {
  await page.locator('#add-many:visible, .invitation button:visible').click();
  await page.getByLabel('Paste CSV, cells of a spreadsheet or JSON').waitFor();
}

const POLL_MS = 50;

/** Waits until an expression is true on the page. The policy of the page forbids page.waitForFunction. */
export async function until(page: Page, expression: string): Promise<void> {
  const deadline = performance.now() + ACTION_TIMEOUT_MS;
  while (!(await page.evaluate<boolean>(expression))) {
    if (performance.now() > deadline) throw new Error(`It did not become true: ${expression}`);
    await setTimeout(POLL_MS);
  }
}

interface AxeResults {
  violations: { id: string; impact: string | null; nodes: { html: string }[] }[];
}
interface AxeWindow {
  axe: { run: (options: object) => Promise<AxeResults> };
}

/** Fails if axe-core finds a serious or critical violation of WCAG 2.2 AA, or of the given rules, anywhere. */
export async function assertAccessible(page: Page, rules?: string[]): Promise<void> {
  // The policy of the page does not apply to code that is evaluated from here.
  if (!(await page.evaluate<boolean>('"axe" in globalThis'))) {
    await page.evaluate(`${AXE_SOURCE};undefined`);
  }
  const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
  const runOnly =
    rules === undefined ? { type: 'tag', values: tags } : { type: 'rule', values: rules };
  const { violations } = await page.evaluate(
    (only) =>
      (globalThis as unknown as AxeWindow).axe.run({
        runOnly: only,
        resultTypes: ['violations'],
      }),
    runOnly,
  );
  const serious = violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
  assert.deepEqual(serious, []);
}

/** Saves a screenshot for people, with PICTURES=1. artifacts/ is not part of the repository. */
export async function keepPicture(page: Page, name: string, fullPage = true): Promise<void> {
  if (process.env['PICTURES'] === undefined) return;
  mkdirSync(ARTIFACTS, { recursive: true });
  await page.screenshot({ path: join(ARTIFACTS, `${name}.png`), fullPage });
}
