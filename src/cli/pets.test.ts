import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sqliteStorage, startTestService, type TestService } from '../../test/test-service.ts';
import { UsageError } from '../config.ts';
import { pets } from './pets.ts';

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
  env?: Record<string, string>;
}

async function run(args: string[], { isTTY = false, env = {} }: RunOptions = {}): Promise<Run> {
  const written = { stdout: '', stderr: '' };
  const io = {
    env: { PETSTORE_API_KEY: service.key, ...env },
    stdout: { isTTY, write: (text: string) => (written.stdout += text) },
    stderr: { isTTY, write: (text: string) => (written.stderr += text) },
  };
  const [verb, ...words] = args;
  const isAddressed = verb === undefined || words.includes('--base-url');
  const address = isAddressed ? [] : ['--base-url', service.baseUrl];
  const code = await pets(verb === undefined ? [] : [verb, ...address, ...words], io);
  return { code, ...written };
}

async function add(name: string, ...flags: string[]): Promise<bigint> {
  const { stdout } = await run(['add', '--name', name, '--category-id=7', '--json', ...flags]);
  return BigInt(/"id":(\d+)/.exec(stdout)?.[1] ?? '');
}

describe('petstore pets', () => {
  test('add, get and list show the same animal, with every digit as JSON', async () => {
    for (const category of ['9223372036854775807', '-9223372036854775808', '9007199254740993']) {
      const words = ['--name', 'Rex', `--category-id=${category}`, '--status', 'pending', '--json'];
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

  test('a table lines up below one heading over all pages', async () => {
    for (let index = 0; index < 5; index += 1) await add('Rex');
    const { stdout } = await run(['list', '--limit', '2', '--all', '--status', 'available']);
    const lines = stdout.trimEnd().split('\n');
    assert.ok(lines.length > 5, stdout);
    assert.match(lines[0] ?? '', /^ *ID {2}STATUS {5}CATEGORY {2}NAME$/);
    for (const line of lines.slice(1)) assert.match(line, /^ *\d+ {2}available {2} {7}7 {2}Rex$/);
    assert.equal(lines.filter((line) => line.includes('CATEGORY')).length, 1);
  });

  test('colours are for a terminal, and never with NO_COLOR', async () => {
    const id = String(await add('Rex'));
    const green = '\u001b[32mavailable\u001b[39m';
    const onTerminal = await run(['get', id], { isTTY: true });
    assert.ok(onTerminal.stdout.includes(green));
    const withoutColour = await run(['get', id], { isTTY: true, env: { NO_COLOR: '1' } });
    const inPipe = await run(['get', id]);
    assert.ok(!withoutColour.stdout.includes('\u001b'));
    assert.equal(inPipe.stdout, withoutColour.stdout);
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
    const env = { PETSTORE_API_KEY: empty.key };
    const { code, stdout, stderr } = await run(['list', '--base-url', empty.baseUrl], { env });
    await empty.close();
    assert.deepEqual(
      { code, stdout, stderr },
      { code: 0, stdout: '', stderr: 'There are no animals to show.\n' },
    );
  });

  test('get says on standard error that it will end', async () => {
    const { stderr } = await run(['get', String(await add('Rex'))]);
    assert.match(
      stderr,
      /^petstore-client: GET \/pets\/\{petId\} is deprecated .* 05 Dec 2030 .*\n$/,
    );
  });

  test('a refused request shows the message, the code and the request id, with exit code 1', async () => {
    const env = { PETSTORE_API_KEY: 'pet_live_wrong' };
    const { code, stdout, stderr } = await run(['list'], { env });
    assert.equal(code, 1);
    assert.equal(stdout, '');
    assert.match(stderr, /^petstore: .+ \(invalid_api_key, request [\w.-]+\)\n$/);
    assert.ok(!stderr.includes('pet_live_wrong'));

    const missing = await run(['get', '--', '-5']);
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
    assert.equal(stderr, `petstore: No answer came from ${gone.baseUrl}. (connection_lost)\n`);
  });

  test('--help is on standard output', async () => {
    for (const args of [['--help'], ['-h'], ['list', '--help'], ['get', '-h']]) {
      const { code, stdout, stderr } = await run(args);
      assert.equal(code, 0);
      assert.match(stdout, /^Usage\n {2}petstore pets list/);
      assert.equal(stderr, '');
    }
  });

  const misuses: [args: string[], message: RegExp][] = [
    [[], /^pets needs one of list, add, get ID; got ""\.$/],
    [['remove'], /^pets needs one of list, add, get ID; got "remove"\.$/],
    [['toString'], /^pets needs one of list, add, get ID; got "toString"\.$/],
    [['list', '--limit', '0'], /^--limit is "0": it must be an integer from 1 to 100\.$/],
    [['list', '--limit', '101'], /^--limit is "101": it must be/],
    [['list', '--limit', '5x'], /^--limit is "5x": it must be/],
    [
      ['list', '--status', 'gone'],
      /^--status is "gone": it must be one of available, pending, sold\.$/,
    ],
    [['list', '--name', 'Rex'], /^pets list does not take "--name"; see petstore pets --help\.$/],
    [['list', '5'], /^pets list does not take "5"; see/],
    [['list', '--colour'], /^Unknown option '--colour'/],
    [
      ['list', '--base-url', 'pets.example'],
      /^--base-url is "pets.example": it must be an http or https address/,
    ],
    [['add', '--name', 'Rex'], /^pets add needs --name N and --category-id I;/],
    [
      ['add', '--name', 'Rex', '--category-id', '1.5'],
      /^--category-id is "1.5": it must be an integer from -9223372036854775808 to 9223372036854775807\.$/,
    ],
    [
      ['add', '--name', 'Rex', '--category-id', '9223372036854775808'],
      /^--category-id is "9223372036854775808": it must be/,
    ],
    [['add', '--name', 'Rex', '--category-id', '-5'], /^[^\n]+ use '--category-id=-XYZ'\.$/],
    [['get'], /^pets get needs the ID of an animal\.$/],
    [['get', 'Rex'], /^ID is "Rex": it must be an integer/],
    [['get', '1', '2'], /^pets get does not take "2"; see/],
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
    for (const key of ['', 'two words', 'line\nbreak']) {
      await assert.rejects(run(['list'], { env: { PETSTORE_API_KEY: key } }), {
        name: 'UsageError',
        message:
          'PETSTORE_API_KEY is not set to a key: it must be a key that petstore keys create printed.',
      });
    }
  });
});
