import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
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
import { loadConfig } from '../../src/config.ts';
import { openLog } from '../../src/ops/log.ts';
import { startService, type Service } from '../../src/service.ts';
import { flagsOf } from './test-service.ts';
import { findChromium, NEEDS_CHROMIUM } from './chromium.ts';

export const ARTIFACTS = new URL('../../artifacts/', import.meta.url).pathname;
const AXE_SOURCE = readFileSync(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
);
/** The machine may be busy, so an action has much time. */
const ACTION_TIMEOUT_MS = 30_000;

/** Prevents the browser from using the network: it may load only the pages of this machine. */
const BROWSER_FLAGS = [
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
let sharedStage: Promise<Stage> | undefined;
after(async () => {
  await (await running)?.close();
  await Stage.closeShared();
});

/** One browser for all tests of this process. */
function browser(): Promise<Browser> {
  running ??= chromium.launch({
    executablePath: findChromium() ?? '',
    args: [...BROWSER_FLAGS, ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])],
  });
  return running;
}

/** A test of a page. Without a browser it is skipped. */
export function test(title: string, body: (t: TestContext) => Promise<void>): void {
  void testOf(title, { skip: NEEDS_CHROMIUM }, body);
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

  static async open(t: TestContext, options: { flags?: string[]; pets?: NewPet[] } = {}) {
    const stage = new Stage(options.flags ?? []);
    t.after(() => stage.#close());
    await stage.start();
    for (const pet of options.pets ?? []) await stage.client().pets.create(pet);
    return stage;
  }

  /** One service for all tests that store nothing: each would otherwise make every page again. */
  static shared(): Promise<Stage> {
    sharedStage ??= (async () => {
      const stage = new Stage([]);
      await stage.start();
      return stage;
    })();
    return sharedStage;
  }

  static async closeShared(): Promise<void> {
    const stage = await sharedStage;
    if (stage !== undefined) await stage.#close();
  }

  /** The address of the admin port, if a flag has set it. */
  get admin(): string {
    return this.#service?.adminUrl ?? '';
  }

  /** What the service counts about itself. */
  readonly figures = () => this.#service?.figures() ?? [];

  get data(): string {
    return join(this.#folder, this.#store);
  }

  client(key = this.key): PetStore {
    return new PetStore({ baseUrl: `${this.site}/v1`, apiKey: key, warn: () => undefined });
  }

  /** Starts the service. A later start uses the same port as the first. */
  async start(): Promise<void> {
    const port = this.site === '' ? '0' : new URL(this.site).port;
    const fixed = ['--port', port, '--admin-port', 'off', '--data', this.data, '--log', 'silent'];
    const config = loadConfig(flagsOf([...fixed, ...this.#flags]), {});
    this.#service = await startService(config, {
      clock: { now: () => new Date(), elapsedMs: () => performance.now() },
      randomBytes,
      newRequestId: randomUUID,
      isWorker: false,
      log: openLog('silent', process.stderr),
    });
    this.key = this.#service.firstKey ?? this.key;
    this.site = this.#service.baseUrl.replace(/\/v1$/, '');
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
  async newKey(scopes: string): Promise<string> {
    let secret = '';
    const stdout = { write: (text: string) => (secret += text) };
    const stderr = { write: () => true };
    const args = ['keys', 'create', '--name', 'test', '--scopes', scopes, '--data', this.data];
    await execute(COMMANDS, args, { env: {}, stdout, stderr });
    return secret.trim();
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

/** Opens a page in a new browser profile. An incident on the page fails the test at its end. */
export async function visit(
  t: TestContext,
  stage: Stage,
  options: BrowserContextOptions & { site?: string; path?: string; key?: string } = {},
): Promise<Visit> {
  const { site = stage.site, path = '/', key, ...contextOptions } = options;
  const context = await (
    await browser()
  ).newContext({ reducedMotion: 'reduce', ...contextOptions });
  context.setDefaultTimeout(ACTION_TIMEOUT_MS);
  const incidents: string[] = [];
  context.on('request', (request) => {
    if (!request.url().startsWith(site)) incidents.push(`request to ${request.url()}`);
  });
  const page = await context.newPage();
  page.on('pageerror', (error) => incidents.push(`script error: ${error.message}`));
  page.on('console', (message) => {
    const text = message.text();
    // The browser itself logs each response of 400 and above, and each lost connection.
    if (text.startsWith('Failed to load resource')) return;
    if (message.type() === 'error' || /Content.Security.Policy/i.test(text)) incidents.push(text);
  });
  page.on('dialog', (dialog) => {
    incidents.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  t.after(async () => {
    await context.close();
    assert.deepEqual(incidents, []);
  });
  await page.goto(site + path);
  if (key !== undefined) await signIn(page, key);
  return { page, context, incidents };
}

export async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Open the catalogue' }).click();
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

/** Saves a screenshot for people. artifacts/ is not part of the repository. */
export async function keepPicture(page: Page, name: string, fullPage = true): Promise<void> {
  mkdirSync(ARTIFACTS, { recursive: true });
  await page.screenshot({ path: join(ARTIFACTS, `${name}.png`), fullPage });
}
