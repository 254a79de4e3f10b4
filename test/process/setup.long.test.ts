// The setup that `npm start` and `npm test` run first, in a small project with a fake npm.

import assert from 'node:assert/strict';
import { fork, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { MAIN, NODE_FLAGS, run } from '../../harness/command.ts';
import { NEEDS_LINUX, needsProgram } from '../../harness/needs.ts';
import { serve } from '../../harness/service-process.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';

const PACKAGES = {
  '': {},
  'node_modules/needed': { version: '1.0.0' },
  'node_modules/tool': { version: '1.0.0', dev: true },
  'node_modules/node-here': {
    version: '1.0.0',
    optional: true,
    os: process.platform,
    cpu: process.arch,
  },
  'node_modules/node-elsewhere': { version: '1.0.0', optional: true, os: 'beos', cpu: 'ppc' },
};
type Path = keyof typeof PACKAGES;
const RUNTIME: Path[] = ['node_modules/needed', 'node_modules/node-here'];
const DEVELOPMENT: Path[] = [...RUNTIME, 'node_modules/tool'];

const GOOD_NODE = '#!/bin/sh\necho v26.0.0\n';
const LOADER_MESSAGE =
  'node: error while loading shared libraries: libatomic.so.1: cannot open shared object file';
const NODE_WITHOUT_LIBRARY = `#!/bin/sh\necho "${LOADER_MESSAGE}" >&2\nexit 127\n`;
const NODE_WITHOUT_LOADER = '#!/lib/no-such-loader\n';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

/** A project whose lock file names PACKAGES, of which some are installed and recorded as npm records them. */
function newProject(t: TestContext, installed: Path[]) {
  const root = temporaryFolder(t);
  const inRoot = (path: string) => join(root, path);
  for (const folder of ['scripts', 'path', 'bin']) mkdirSync(inRoot(folder));
  for (const file of ['scripts/setup.js', 'bin/petstore.js', 'bin/petstore.cjs']) {
    cpSync(fileURLToPath(new URL(`../../${file}`, import.meta.url)), inRoot(file));
  }
  const manifest = { type: 'module', optionalDependencies: { 'node-here': '1.0.0' } };
  writeFileSync(inRoot('package.json'), JSON.stringify(manifest));
  writeFileSync(inRoot('package-lock.json'), JSON.stringify({ packages: PACKAGES }));
  const executable = (path: string, content: string) => {
    writeFileSync(inRoot(path), content);
    chmodSync(inRoot(path), 0o755);
  };
  executable(
    'path/npm',
    `#!/bin/sh\necho "$@" >> '${inRoot('npm-calls')}'\nmkdir -p node_modules\n`,
  );
  for (const path of installed) mkdirSync(inRoot(path), { recursive: true });
  if (installed.length > 0) {
    mkdirSync(inRoot('node_modules/.bin'));
    const packages = Object.fromEntries(installed.map((path) => [path, PACKAGES[path]]));
    writeFileSync(inRoot('node_modules/.package-lock.json'), JSON.stringify({ packages }));
  }
  return {
    inRoot,
    putNode: (content: string) => {
      executable('node_modules/.bin/node', content);
      executable('node_modules/node-here/node', content);
      writeFileSync(inRoot('node_modules/node-here/package.json'), '{"bin":{"node":"node"}}');
    },
    npmCalls: () =>
      existsSync(inRoot('npm-calls'))
        ? readFileSync(inRoot('npm-calls'), 'utf8').trim().split('\n')
        : [],
    run: (script: string, args: string[], node = '20.0.0') =>
      runAs({ node }, inRoot(script), args, `${inRoot('path')}:${process.env['PATH']}`),
  };
}

/** Runs a script with a Node.js that reports the given versions. */
function runAs(versions: object, script: string, args: string[], path = '') {
  const { status, stderr } = spawnSync(
    process.execPath,
    [...pretending(versions, script), ...args],
    {
      env: { PATH: path },
      encoding: 'utf8',
    },
  );
  return { status, stderr };
}

/** The arguments of a Node.js that reports the given versions. */
function pretending(versions: object, script: string): string[] {
  const pretend = `data:text/javascript,for (const [name, value] of Object.entries(${JSON.stringify(versions)})) Object.defineProperty(process.versions, name, { value })`;
  return ['--import', pretend, script];
}

const options = { skip: needsProgram('sh') };

describe('Setup', options, () => {
  for (const extent of ['runtime', 'development']) {
    test(`after npm ci, the setup for ${extent} installs and removes nothing`, (t) => {
      const project = newProject(t, DEVELOPMENT);
      project.putNode(GOOD_NODE);
      for (const time of ['first', 'second']) {
        const result = project.run('scripts/setup.js', [extent]);
        assert.deepEqual(result, { status: 0, stderr: '' }, time);
      }
      assert.deepEqual(project.npmCalls(), []);
    });
  }

  test('npm start keeps the development packages when the lock file has changed', (t) => {
    const project = newProject(t, DEVELOPMENT);
    assert.equal(project.run('scripts/setup.js', ['runtime']).status, 0);
    const changed = { ...PACKAGES, 'node_modules/new': { version: '1.0.0' } };
    writeFileSync(project.inRoot('package-lock.json'), JSON.stringify({ packages: changed }));
    assert.equal(project.run('scripts/setup.js', ['runtime']).status, 0);
    assert.match(project.npmCalls().join('\n'), /^install --no-save --include=dev [^\n]*$/);
  });

  test('the setup installs what is missing: everything, or only the development packages', (t) => {
    const clean = newProject(t, []);
    assert.equal(clean.run('scripts/setup.js', ['runtime']).status, 0);
    assert.match(clean.npmCalls().join('\n'), /^ci --omit=dev [^\n]*$/);
    const runtime = newProject(t, RUNTIME);
    assert.equal(runtime.run('scripts/setup.js', ['runtime']).status, 0);
    assert.deepEqual(runtime.npmCalls(), []);
    assert.equal(runtime.run('scripts/setup.js', ['development']).status, 0);
    assert.match(runtime.npmCalls().join('\n'), /^install --no-save --include=dev [^\n]*$/);
  });

  test('the setup installs a package of which another version is there', (t) => {
    const project = newProject(t, RUNTIME);
    const record = project.inRoot('node_modules/.package-lock.json');
    writeFileSync(record, readFileSync(record, 'utf8').replace('1.0.0', '0.9.0'));
    assert.equal(project.run('scripts/setup.js', ['runtime']).status, 0);
    assert.match(project.npmCalls().join('\n'), /^install --no-save --omit=dev [^\n]*$/);
  });

  test('the setup of the development packages runs a file on the installed Node.js, with its exit code', (t) => {
    const project = newProject(t, DEVELOPMENT);
    project.putNode('#!/bin/sh\n[ "$1" = --version ] && exit\necho "$@" >&2\nexit 7\n');
    const result = project.run('scripts/setup.js', ['test/none.ts', 'fast', '--verbose']);
    assert.deepEqual(result, { status: 7, stderr: 'test/none.ts fast --verbose\n' });
    assert.deepEqual(project.npmCalls(), []);
  });

  const unusable: [what: string, node: string, line: RegExp][] = [
    [
      'a library is missing',
      NODE_WITHOUT_LIBRARY,
      /libatomic\.so\.1.*libatomic1 on Debian.*libatomic on Fedora/,
    ],
    ['the C library is not glibc', NODE_WITHOUT_LOADER, /glibc.*Alpine Linux.*not supported/],
  ];
  for (const [what, node, line] of unusable) {
    test(`if ${what}, the setup prints one line that says what to do, and succeeds after that was done`, (t) => {
      const project = newProject(t, RUNTIME);
      project.putNode(node);
      for (const time of ['first', 'second']) {
        const { status, stderr } = project.run('scripts/setup.js', ['runtime']);
        assert.match(stderr, /^[^\n]+\n$/);
        assert.match(stderr, line);
        assert.equal(status, 1, time);
        // npm would run the next script with this file.
        assert.equal(existsSync(project.inRoot('node_modules/.bin/node')), false);
      }
      writeFileSync(project.inRoot('node_modules/.bin/node-set-aside'), GOOD_NODE);
      assert.deepEqual(project.run('scripts/setup.js', ['runtime']), { status: 0, stderr: '' });
      assert.equal(existsSync(project.inRoot('node_modules/.bin/node')), true);
      assert.deepEqual(project.npmCalls(), []);
    });

    test(`if ${what}, the petstore command says so too`, (t) => {
      const project = newProject(t, RUNTIME);
      project.putNode(node);
      const { status, stderr } = project.run('bin/petstore.js', ['--version']);
      assert.equal(status, 1);
      assert.match(
        stderr,
        /^petstore: the installed Node\.js \(\S+\) does not run: it needs glibc and libatomic \(.*libatomic1 on Debian/m,
      );
      assert.doesNotMatch(stderr, /^\s+at /m);
    });
  }

  test('the petstore command ends with the exit code of the Node.js that it starts', (t) => {
    const project = newProject(t, RUNTIME);
    for (const status of [0, 1, 2]) {
      project.putNode(`#!/bin/sh\nexit ${status}\n`);
      assert.equal(project.run('bin/petstore.js', ['serve']).status, status);
    }
  });

  test('the petstore command passes signals on to the Node.js that it starts', async (t) => {
    const project = newProject(t, RUNTIME);
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      project.putNode(
        `#!/bin/sh\ntrap 'exit 7' ${signal.slice(3)}\necho up\nwhile :; do sleep 0.1; done\n`,
      );
      const child = spawn(
        process.execPath,
        pretending({ node: '20.0.0' }, project.inRoot('bin/petstore.js')),
      );
      await once(child.stdout, 'data');
      child.kill(signal);
      assert.deepEqual(await once(child, 'exit'), [7, null], signal);
    }
  });

  test('./petstore runs the command of the clone, also through a link, and is named as it was called', (t) => {
    const file = fileURLToPath(new URL('../../petstore', import.meta.url));
    const link = join(temporaryFolder(t), 'petstore');
    symlinkSync(file, link);
    for (const [program, name] of [
      [file, './petstore'],
      [link, 'petstore'],
    ] as const) {
      const env = { PATH: dirname(process.execPath) };
      const { status, stderr } = spawnSync(program, ['fly'], { env, encoding: 'utf8' });
      assert.equal(status, 2, stderr);
      assert.equal(stderr, `petstore: unknown command 'fly'; see ${name} --help.\n`);
    }
  });

  test('Node.js below 26 is refused in one line that names both versions, if no other is installed', (t) => {
    const project = newProject(t, []);
    const { status, stderr } = project.run('bin/petstore.js', ['--version'], '25.9.0');
    assert.match(stderr, /^petstore: Node\.js 25\.9\.0 .*\b26 or later[^\n]*\n$/);
    assert.equal(status, 2);
  });

  test('Node.js below 20 is refused in one line by the command of the npm package', (t) => {
    const project = newProject(t, []);
    const { status, stderr } = project.run('bin/petstore.cjs', ['--version'], '18.20.8');
    assert.equal(stderr, 'petstore: Node.js 18.20.8 is too old; 20 or later is needed.\n');
    assert.equal(status, 2);
    // An older one than any that can be tried here must be able to read the file.
    const code = read('bin/petstore.cjs').replaceAll(/^\s*\/\/.*$/gm, '');
    assert.doesNotMatch(code, /=>|`|\b(?:const|let|class|async)\b|\?[.?]|,\s*\)/);
  });

  test('SQLite below 3.51.3 is refused in one line that names both versions', () => {
    const main = fileURLToPath(new URL('../../bin/petstore.js', import.meta.url));
    for (const sqlite of ['3.51.2', '3.9.0']) {
      const { status, stderr } = runAs({ node: '26.0.0', sqlite }, main, ['--version']);
      assert.ok(
        stderr.startsWith(`petstore: SQLite ${sqlite} is too old; 3.51.3 or later`),
        stderr,
      );
      assert.match(stderr, /^[^\n]+\n$/);
      assert.equal(status, 2);
    }
    for (const sqlite of ['3.51.3', '3.100.0', '4.0.0']) {
      const result = runAs({ node: '26.0.0', sqlite }, main, ['--version']);
      assert.deepEqual(result, { status: 0, stderr: '' }, sqlite);
    }
  });

  test('npm start, the petstore command, the single file and the image pass the same flags to Node.js', () => {
    const [, flags = ''] = /"start": "node (.*) bin\/petstore\.js/.exec(read('package.json')) ?? [];
    assert.match(flags, /^--max-semi-space-size=\d+$/);
    assert.ok(read('bin/petstore.js').includes(`NODE_FLAGS = ['${flags}']`));
    assert.ok(read('scripts/single-file.ts').includes(`NODE_FLAGS = ['${flags}']`));
    assert.ok(read('Containerfile').includes(`NODE_OPTIONS="${flags}"`));
  });

  test(
    'petstore serve without the flags starts again with them, as the same process and with what it was given',
    { skip: NEEDS_LINUX },
    async (t) => {
      const commandOf = async (nodeFlags: string[], env = {}) => {
        const command = [process.execPath, ...nodeFlags, MAIN] as const;
        const service = await serve(t, ['--data', temporaryFolder(t)], { command, env });
        return readFileSync(`/proc/${service.pid}/cmdline`, 'utf8').split('\0').slice(1, 4);
      };
      assert.deepEqual(await commandOf(['--no-warnings']), [...NODE_FLAGS, '--no-warnings', MAIN]);
      // What the user has chosen stays.
      assert.deepEqual(await commandOf(['--max-semi-space-size=16']), [
        '--max-semi-space-size=16',
        MAIN,
        'serve',
      ]);
      const env = { NODE_OPTIONS: '--max_semi_space_size=16' };
      assert.deepEqual(await commandOf([], env), [MAIN, 'serve', '--port']);
    },
  );

  test('petstore serve does not start again if that is forbidden', async () => {
    const permission = ['--permission', '--allow-fs-read=*'];
    const command = [process.execPath, ...permission, MAIN] as const;
    const { code, stderr } = await run(['serve', '--help'], { command });
    assert.deepEqual([code, stderr], [0, '']);
  });

  test(
    'petstore serve does not start again if its parent has a channel to it',
    { skip: NEEDS_LINUX },
    async (t) => {
      const args = ['serve', '--port', '0', '--admin-port', 'off', '--data', temporaryFolder(t)];
      const child = fork(MAIN, args, { execArgv: [], silent: true });
      t.after(() => child.kill('SIGKILL'));
      await once(child.stderr ?? child, 'data');
      const [, main] = readFileSync(`/proc/${child.pid}/cmdline`, 'utf8').split('\0');
      assert.equal(main, MAIN);
    },
  );

  test("if the installed Node.js does not run, the machine's own is used if it is new enough", (t) => {
    const project = newProject(t, RUNTIME);
    project.putNode(NODE_WITHOUT_LOADER);
    assert.equal(project.run('scripts/setup.js', ['runtime'], '26.0.0').status, 0);
    assert.equal(existsSync(project.inRoot('node_modules/.bin/node')), false);
  });
});
