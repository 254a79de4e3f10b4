import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { sqliteStorage, startTestService, type TestService } from '../../harness/test-service.ts';
import { UsageError } from '../setting.ts';
import { COMMANDS } from './commands.ts';
import { execute } from './execute.ts';

let service: TestService;
before(async () => {
  service = await startTestService(sqliteStorage);
});
after(() => service.close());

interface Run {
  code: number;
  stdout: string;
  stderr: string;
}

interface RunOptions {
  isTTY?: boolean;
  columns?: number;
  env?: Record<string, string>;
}

async function run(
  args: string[],
  { isTTY = false, columns = 80, env = {} }: RunOptions = {},
): Promise<Run> {
  const written = { stdout: '', stderr: '' };
  const io = {
    env: { PETSTORE_API_KEY: service.key, PETSTORE_BASE_URL: service.baseUrl, ...env },
    stdout: { isTTY, columns, write: (text: string) => (written.stdout += text) },
    stderr: { isTTY, write: (text: string) => (written.stderr += text) },
  };
  const code = await execute(COMMANDS, ['pets', ...args], io);
  return { code, ...written };
}

async function add(name: string, ...flags: string[]): Promise<bigint> {
  const { stdout } = await run(['add', '--name', name, '--category-id=7', '--json', ...flags]);
  return BigInt(/"id":(\d+)/.exec(stdout)?.[1] ?? '');
}

describe('petstore pets', () => {
  test('add, get and list show the same animal, with every digit as JSON', async () => {
    for (const category of ['9223372036854775807', '-9223372036854775808', '9007199254740993']) {
      const words = ['--name', 'Rex', '--category-id', category, '--status', 'pending', '--json'];
      const added = await run(['add', ...words]);
      const id = /^\{"id":(\d+),/.exec(added.stdout)?.[1] ?? '';
      assert.equal(
        added.stdout,
        `{"id":${id},"name":"Rex","categoryId":${category},"status":"pending"}\n`,
      );
      assert.equal((await run(['get', id, '--json'])).stdout, added.stdout);
      const { stdout } = await run(['list', '--all', '--status', 'pending', '--json']);
      assert.ok(stdout.includes(added.stdout));
    }
  });

  test('list shows one page and says on standard error when there is more; --all shows each once', async () => {
    for (let index = 0; index < 7; index += 1) await add(`Animal ${index}`, '--status', 'sold');
    const page = await run(['list', '--limit', '3', '--status', 'sold', '--json']);
    assert.equal(page.stdout.trimEnd().split('\n').length, 3);
    assert.equal(page.stderr, 'There are more animals: --all shows them.\n');

    const all = await run(['list', '--limit', '3', '--all', '--status', 'sold', '--json']);
    const names = all.stdout
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { name: string }).name);
    assert.deepEqual(
      names,
      Array.from({ length: 7 }, (_, index) => `Animal ${index}`),
    );
    assert.equal(all.stderr, '');
  });

  test('list --newest begins with the newest animal, and --newest --all ends with the oldest', async () => {
    const own = await startTestService(sqliteStorage);
    const env = { PETSTORE_API_KEY: own.key, PETSTORE_BASE_URL: own.baseUrl };
    for (let index = 1; index <= 7; index += 1) {
      const status = index % 2 === 0 ? 'sold' : 'pending';
      await run(['add', '--name', `N${index}`, '--category-id', '7', '--status', status], { env });
    }
    const list = async (...flags: string[]) => {
      const { stdout, stderr } = await run(['list', '--newest', ...flags], { env });
      return [stdout.replaceAll(/.*N(\d)\n/g, '$1'), stderr];
    };
    const results = [
      await list('--limit', '3'),
      await list('--limit', '3', '--all'),
      await list('--limit', '2', '--all', '--status', 'sold'),
      await list(),
    ];
    await own.close();
    assert.deepEqual(results, [
      ['765', 'There are more animals: --all shows them.\n'],
      ['7654321', ''],
      ['642', ''],
      ['7654321', ''],
    ]);
  });

  test('a table on a terminal has one heading, and later pages keep the columns of the first', async () => {
    const own = await startTestService(sqliteStorage);
    const env = { PETSTORE_API_KEY: own.key, PETSTORE_BASE_URL: own.baseUrl, NO_COLOR: '1' };
    for (const category of ['7', '7', '7', '-9223372036854775808', '7']) {
      await run(['add', '--name', 'Rex', '--category-id', category], { env });
    }
    const { stdout } = await run(['list', '--limit', '2', '--all'], { isTTY: true, env });
    await own.close();
    assert.equal(
      stdout,
      [
        '    ID  STATUS     CATEGORY  NAME',
        '     1  available         7  Rex',
        '     2  available         7  Rex',
        '     3  available         7  Rex',
        '     4  available  -9223372036854775808  Rex',
        '     5  available         7  Rex\n',
      ].join('\n'),
    );
  });

  test('a pipe gets tab-separated values without heading, colours or cuts', async () => {
    const name = 'x'.repeat(255);
    const id = await add(name);
    const { stdout } = await run(['get', String(id)], { columns: 20 });
    assert.equal(stdout, `${id}\tavailable\t7\t${name}\n`);
  });

  test('a long name is cut to the width of the terminal, in characters as wide as they are shown', async () => {
    for (const [name, columns, shown] of [
      ['x'.repeat(255), 60, `${'x'.repeat(30)}…`],
      ['猫'.repeat(100), 60, `${'猫'.repeat(15)}…`],
      ['🐈‍⬛'.repeat(40), 60, `${'🐈‍⬛'.repeat(15)}…`],
      ['fits exactly: 31 characters here', 61, 'fits exactly: 31 characters here'],
    ] as const) {
      const id = await add(name);
      const { stdout } = await run(['get', String(id)], {
        isTTY: true,
        columns,
        env: { NO_COLOR: '1' },
      });
      const line = stdout.split('\n')[1] ?? '';
      assert.equal(line, `${String(id).padStart(6)}  available         7  ${shown}`);
    }
  });

  test('colours are for a terminal, and never with NO_COLOR', async () => {
    const id = String(await add('Rex'));
    const green = '\u001b[32mavailable\u001b[39m';
    assert.ok((await run(['get', id], { isTTY: true })).stdout.includes(green));
    const withoutColour = await run(['get', id], { isTTY: true, env: { NO_COLOR: '1' } });
    assert.ok(!withoutColour.stdout.includes('\u001b'));
    assert.ok(!(await run(['get', id])).stdout.includes('\u001b'));
    assert.ok(!(await run(['get', id, '--json'], { isTTY: true })).stdout.includes('\u001b'));
  });

  test('a name cannot steer the terminal, and stays exact as JSON', async () => {
    const name = 'a\u001b[2J\u0007\n\u009b31m\u202eb';
    const id = String(await add(name));
    const shown = String.raw`a\u001b[2J\u0007\u000a\u009b31m\u202eb`;
    assert.ok((await run(['get', id], { isTTY: true })).stdout.endsWith(`  ${shown}\n`));
    const { stdout } = await run(['get', id, '--json']);
    assert.doesNotMatch(stdout.trimEnd(), /[\p{Cc}\p{Bidi_Control}]/u);
    assert.equal((JSON.parse(stdout) as { name: string }).name, name);
  });

  test('an empty list is nothing on standard output', async () => {
    const empty = await startTestService(sqliteStorage);
    // The flag takes precedence over PETSTORE_BASE_URL.
    const env = { PETSTORE_API_KEY: empty.key };
    const list = ['list', '--base-url', empty.baseUrl];
    const results = [await run(list, { env }), await run(list, { env, isTTY: true })];
    await empty.close();
    for (const result of results) {
      const stderr = 'There are no animals to show.\n';
      assert.deepEqual(result, { code: 0, stdout: '', stderr });
    }
  });

  test('get says on standard error that it will end, and which command to use instead', async () => {
    const { stderr } = await run(['get', String(await add('Rex'))]);
    assert.match(
      stderr,
      /^petstore: GET \/pets\/\{petId\} is deprecated and ends on 5 December 2030 \(see http:\S+\/docs\S*\)\. Use petstore pets list --status STATUS instead\.\n$/,
    );
  });

  test('the notice of a deprecated operation has what the service tells: a date, a page, or neither', async (t) => {
    const shown = async (headers: Record<string, string>) => {
      const other = createServer((_, response) => {
        response.writeHead(200, {
          'content-type': 'application/json',
          deprecation: '@1',
          ...headers,
        });
        response.end('{"id":1,"name":"Rex","categoryId":7,"status":"sold"}');
      });
      t.after(() => other.close());
      await once(other.listen(0, '127.0.0.1'), 'listening');
      const { port } = other.address() as AddressInfo;
      const baseUrl = `http://127.0.0.1:${port}/v1`;
      const { stderr } = await run(['get', '1', '--base-url', baseUrl]);
      const [, notice] = /\} (is deprecated .*) Use petstore pets list/.exec(stderr) ?? [];
      return notice;
    };
    const sunset = 'Thu, 05 Dec 2030 00:00:00 GMT';
    assert.equal(await shown({ sunset }), 'is deprecated and ends on 5 December 2030.');
    assert.equal(
      await shown({ sunset: 'one day. Perhaps' }),
      'is deprecated and ends on one day. Perhaps.',
    );
    assert.equal(await shown({}), 'is deprecated and ends on an unknown date.');
  });

  test('a refused request shows the message, the code and the request id, with exit code 1', async () => {
    const env = { PETSTORE_API_KEY: 'pet_live_wrong' };
    const { code, stdout, stderr } = await run(['list'], { env });
    assert.equal(code, 1);
    assert.equal(stdout, '');
    assert.match(stderr, /^petstore: .+ \(invalid_api_key, request [\w.-]+\)\n$/);
    assert.ok(!stderr.includes('pet_live_wrong'));

    const missing = await run(['get', '-5']);
    assert.equal(missing.code, 1);
    assert.match(missing.stderr, /\npetstore: .+ \(pet_not_found, request [\w.-]+\)\n$/);
    const nameless = await run(['add', '--name', '', '--category-id', '7']);
    assert.match(
      nameless.stderr,
      /^petstore: name must be .+ \(invalid_field, request [\w.-]+\)\n$/,
    );
  });

  test('no service is one line and exit code 1', async () => {
    const gone = await startTestService(sqliteStorage);
    await gone.close();
    const { code, stderr } = await run(['list', '--base-url', gone.baseUrl]);
    assert.equal(code, 1);
    assert.equal(
      stderr,
      `petstore: No response from ${gone.baseUrl} (ECONNREFUSED). (connection_lost)\n`,
    );
  });

  test('a failure that is not one of the service is thrown', async () => {
    const failing = { write: () => assert.fail('the output is gone') };
    const env = { PETSTORE_API_KEY: service.key, PETSTORE_BASE_URL: service.baseUrl };
    const io = { env, stdout: failing, stderr: { write: () => true } };
    await assert.rejects(execute(COMMANDS, ['pets', 'list'], io), /the output is gone/);
  });

  const misuses: [args: string[], message: RegExp][] = [
    [[], /^pets needs a command: the commands are list, add, get; see petstore pets --help\.$/],
    [['fly'], /^there is no command "fly": the commands are list, add, get; see/],
    [
      ['delete', '1'],
      /^pets cannot delete: use petstore catalogue remove ID, on the store itself\.$/,
    ],
    [['update', '1'], /^pets cannot update: use petstore catalogue set-status ID --to STATUS, on/],
    [['toString'], /^there is no command "toString": the commands are/],
    [['lsit'], /^there is no command "lsit" \(did you mean list\?\): /],
    [['list', '--limit', '0'], /^--limit is "0": it must be an integer from 1 to 100\.$/],
    [['list', '--limit', '101'], /^--limit is "101": it must be/],
    [['list', '--limit', '5x'], /^--limit is "5x": it must be/],
    [
      ['list', '--status', 'gone'],
      /^--status is "gone": it must be one of available, pending, sold\.$/,
    ],
    [['list', '--name', 'Rex'], /^unknown option --name; [^.]*see petstore pets list --help\.$/i],
    [['list', '5'], /^too many arguments: expected 0 arguments but got 1; see/],
    [['list', '--colour'], /^unknown option --colour; see/],
    [
      ['list', '--limt', '5'],
      /^unknown option --limt; did you mean --limit\? See petstore pets list --help\.$/,
    ],
    [
      ['list', '--base-url', 'pets.example'],
      /^--base-url is "pets.example": it must be an http or https address that ends in \/v1\.$/,
    ],
    [['add', '--name', 'Rex'], /^--category-id is missing: the category of the animal\.$/],
    [['add', '--category-id', '5'], /^--name is missing: the name of the animal\.$/],
    [['add', 'Rex'], /^give the name with --name Rex; see petstore pets add --help\.$/],
    [
      ['add', '--name', 'Rex', '--category-id', '7', 'Tom'],
      /^too many arguments: expected 0 arguments but got 1; see/,
    ],
    [['add', "O'Malley", 'the', 'cat'], /^give the name with --name 'O'\\''Malley the cat'; see/],
    [['list', '-v'], /^unknown option -v; did you mean petstore --version\?$/],
    [['add', '--name'], /^--name needs a value; see petstore pets add --help\.$/],
    [
      ['add', '--name', 'Rex', '--category-id', '1.5'],
      /^--category-id is "1.5": it must be an integer from -9223372036854775808 to 9223372036854775807\.$/,
    ],
    [
      ['add', '--name', 'Rex', '--category-id', '9223372036854775808'],
      /^--category-id is "9223372036854775808": it must be/,
    ],
    [['get'], /^missing required argument 'ID'; see petstore pets get --help\.$/],
    [['get', 'Rex'], /^ID is "Rex": it must be an integer/],
    [['get', '1', '2'], /^too many arguments: expected 1 argument but got 2; see/],
  ];
  for (const [args, message] of misuses) {
    test(`"${args.join(' ')}" is refused in one line that says what would be right`, async () => {
      await assert.rejects(run(args), (error) => {
        assert.ok(error instanceof UsageError);
        assert.match(error.message, message);
        return true;
      });
    });
  }

  test('a key that is missing or no key is named, and never shown', async () => {
    await assert.rejects(run(['list'], { env: { PETSTORE_API_KEY: '' } }), {
      name: 'UsageError',
      message:
        'PETSTORE_API_KEY is not set. Create a key with petstore keys create --name NAME, then run export PETSTORE_API_KEY=KEY.',
    });
    for (const key of ['two words', 'line\nbreak']) {
      await assert.rejects(run(['list'], { env: { PETSTORE_API_KEY: key } }), {
        name: 'UsageError',
        message: 'PETSTORE_API_KEY is not a key: it must be one that petstore keys create printed.',
      });
    }
  });
});
