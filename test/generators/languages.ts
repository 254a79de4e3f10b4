// Generates a client in each language but TypeScript with the commands of docs/clients.md, and runs its
// program against a real service. `npm run test:generators` runs this file.

import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { needs } from '../../harness/needs.ts';
import type { TestService } from '../../harness/test-service.ts';
import { unreachable } from '../../harness/tools.ts';
import { blocksOf, DOCUMENTED_ORIGIN, IS_NEWEST, OUTPUT, ROOT, startService } from './programs.ts';

const FOLDER = join(ROOT, 'artifacts', 'languages');
const run = promisify(execFile);

interface Language {
  /** Its page, if that is not docs/clients.md. */
  page?: string;
  /** The name of its code block. */
  block: string;
  file: string;
  /** Commands that succeed if its tools are installed. */
  tools: string[];
}

const LANGUAGES: Readonly<Record<string, Language>> = {
  Go: { block: 'golang', file: 'main.go', tools: ['go version'] },
  Python: { block: 'py', file: 'main.py', tools: ['python3 -c "import venv, ensurepip"'] },
  Java: {
    page: 'test/generators/java.md',
    block: 'java',
    file: 'Main.java',
    tools: ['javac -version', 'mvn -version'],
  },
  PHP: {
    page: 'test/generators/php.md',
    block: 'php',
    file: 'main.php',
    tools: [
      `php -r 'require "GuzzleHttp/autoload.php"; curl_init(); mb_strlen("");'`,
      'mvn -version',
    ],
  },
};

let service: TestService;
before(async () => {
  service = await startService();
});
after(() => service.close());

function findMissing({ tools }: Language): string | undefined {
  return tools.find((command) => spawnSync('bash', ['-c', command]).status !== 0);
}

/** The commands of the page with the newest version of each generator. */
function withNewest(commands: string): string {
  return commands
    .replaceAll(/@v[\d.]+/g, '@latest')
    .replaceAll(/==[\d.]+/g, '')
    .replaceAll(/(openapi-generator-cli):[\d.]+/g, '$1:LATEST');
}

for (const [name, language] of Object.entries(LANGUAGES)) {
  const missing = findMissing(language);
  const skip = needs(`the tools of ${name}: ${missing} fails`, missing === undefined);
  test(`${name}: the generated client runs the program of the page`, { skip }, async (t) => {
    const folder = join(FOLDER, language.file);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    const blocks = blocksOf(name, language.page);
    const origin = new URL(service.baseUrl).origin;
    const program = (blocks[language.block] ?? '').replaceAll(DOCUMENTED_ORIGIN, origin);
    writeFileSync(join(folder, language.file), program);
    const pinned = (blocks['sh'] ?? '').replaceAll(DOCUMENTED_ORIGIN, origin);
    const commands = IS_NEWEST ? withNewest(pinned) : pinned;
    t.diagnostic(commands);
    const options = { cwd: folder, env: { ...process.env, PETSTORE_API_KEY: service.key } };
    const result = await run('bash', ['-euo', 'pipefail', '-c', commands], options).catch(
      (error: unknown) => {
        const reason = unreachable(error);
        if (reason === undefined) throw error;
        return reason;
      },
    );
    if (typeof result === 'string') return t.skip(`needs the packages of ${name}: ${result}`);
    const { stdout } = result;
    // The generators print before the program does.
    assert.equal(stdout.slice(-OUTPUT.length), OUTPUT, stdout);
  });
}
