import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../bin/petstore.js', import.meta.url));

/** On a busy machine the store may not respond in time. Nothing was changed then. */
const NOTHING_CHANGED = /gives no response in time|database is locked/;
const ATTEMPTS_MAX = 10;

/** Runs `petstore catalogue` as a process of its own, with these ids on its standard input. */
export async function runCatalogue(
  args: string[],
  ids: string[],
): Promise<{ code: number; said: string }> {
  for (let attempt = 1; ; attempt += 1) {
    const result = await runOnce(args, ids);
    if (attempt === ATTEMPTS_MAX || !NOTHING_CHANGED.test(result.said)) return result;
  }
}

async function runOnce(args: string[], ids: string[]): Promise<{ code: number; said: string }> {
  const child = spawn(process.execPath, [MAIN, 'catalogue', ...args, '--from-file', '-'], {
    env: {},
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  child.stdin.end(ids.join('\n'));
  const ended = once(child, 'exit') as Promise<[number]>;
  const said = await text(child.stderr);
  const [code] = await ended;
  return { code, said };
}
