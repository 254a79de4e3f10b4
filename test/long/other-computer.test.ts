// "Use it from the other computer" of docs/access.md: the four lines for Caddy, and the key of a person.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { test } from 'node:test';
import { processVariables } from '../../src/config.ts';
import { runHere } from '../../harness/command.ts';
import { freePort } from '../../harness/free-port.ts';
import { needsProgram } from '../../harness/needs.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { sqliteStorage, startTestService } from '../../harness/test-service.ts';
import { until } from '../../harness/until.ts';

const PAGE = readFileSync(new URL('../../docs/access.md', import.meta.url), 'utf8');
const [, SECTION = ''] = /^## Use it from the other computer.*?\n(.*?)^## /ms.exec(PAGE) ?? [];
/** A certificate is for the address; nobody here trusts Caddy's own authority. */
const UNTRUSTED = { rejectUnauthorized: false };

async function getWith(port: number, key: string): Promise<{ status: number; text: string }> {
  const headers = { authorization: `Bearer ${key}` };
  const sent = request({ port, host: '127.0.0.1', path: '/v1/pets', headers, ...UNTRUSTED }).end();
  const [response] = await once(sent, 'response');
  return { status: response.statusCode, text: (await response.toArray()).join('') };
}

const skip = needsProgram('caddy');

test(
  'the lines for Caddy serve the interface by HTTPS, and the key of a person may change animals',
  { skip },
  async (t) => {
    const service = await startTestService(sqliteStorage);
    t.after(() => service.close());
    const [, create = ''] = /^petstore (keys create .*?)  /m.exec(SECTION) ?? [];
    const data = service.flags[1] ?? '';
    const created = await runHere([...create.split(' '), '--data', data]);
    const key = created.stdout.trim();
    assert.match(
      (await runHere(['keys', 'list', '--data', data])).stdout,
      /pets:read,pets:write,pets:manage.*anna/,
    );

    const folder = temporaryFolder(t);
    const port = await freePort();
    const [, lines = ''] = /^```\n(https:.*?)^```$/ms.exec(SECTION) ?? [];
    assert.equal(lines.trim().split('\n').length, 4);
    const site = lines
      .replace('192.168.1.20', `127.0.0.1:${port}`)
      .replace('127.0.0.1:8080', new URL(service.baseUrl).host);
    // Nothing of this machine changes: no authority is installed, and no other port is opened.
    const file = join(folder, 'Caddyfile');
    writeFileSync(
      file,
      `{\nadmin off\nskip_install_trust\nauto_https disable_redirects\n}\n${site}`,
    );
    const caddy = spawn('caddy', ['run', '--config', file, '--adapter', 'caddyfile'], {
      env: { ...processVariables, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder, HOME: folder },
      stdio: 'ignore',
    });
    t.after(async () => {
      caddy.kill();
      await once(caddy, 'exit');
    });
    await until('Caddy responds', () =>
      getWith(port, key).then(
        ({ status, text }) => status === 200 && text === '[]',
        () => false,
      ),
    );
    assert.equal((await getWith(port, 'wrong')).status, 401);
  },
);
