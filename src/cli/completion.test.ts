import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { MAIN, runHere } from '../../harness/command.ts';
import { needsProgram } from '../../harness/needs.ts';
import { COMMANDS } from './commands.ts';
import { execute } from './execute.ts';

const SHELL_MS_MAX = 60_000;

const where = (shell: string) => ({ skip: needsProgram(shell) });

/** A folder with the completion script of a shell, a file and a folder to complete. */
async function newFolder(t: TestContext, shell: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-completion-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  let script = '';
  const stdout = { write: (text: string) => (script += text) };
  await execute(COMMANDS, ['completion', shell], { env: {}, stdout, stderr: stdout });
  writeFileSync(join(folder, 'script'), script);
  writeFileSync(join(folder, 'all animals.csv'), '');
  mkdirSync(join(folder, 'pets'));
  return folder;
}

/** What a line leads to: the words that complete its last one. */
const COMPLETIONS: [line: string[], words: string[]][] = [
  [['k'], ['keys']],
  [
    ['keys', 'r'],
    ['revoke', 'rotate'],
  ],
  [
    ['help', 'pets', ''],
    ['list', 'add', 'get'],
  ],
  [
    ['keys', 'create', '--e'],
    ['--expires', '--env'],
  ],
  [
    ['serve', '--env', ''],
    ['production', 'staging'],
  ],
  [['serve', '--port', '0', '--log', 'w'], ['warn']],
  [
    ['pets', 'list', '--status', ''],
    ['available', 'pending', 'sold'],
  ],
  [['pets', 'list', '--al'], ['--all']],
  [
    ['completion', ''],
    ['bash', 'zsh', 'fish'],
  ],
  [['import', 'all'], ['all animals.csv']],
  [['export', '--format', 'c'], ['csv']],
  [['--'], ['--help', '--version']],
  [['keys', '--'], ['--help']],
  // No file can follow these.
  [['keys', 'all'], []],
  [['keys', 'revoke', 'all'], []],
  [['serve', 'all'], []],
  [['serve', '--port', ''], []],
];

test('bash completes commands, options, their values and files', where('bash'), async (t) => {
  const cwd = await newFolder(t, 'bash');
  const complete = `source ./script
COMP_WORDS=(petstore "$@"); COMP_CWORD=$#
_petstore
printf '%s\\n' "\${COMPREPLY[@]}"`;
  for (const [line, words] of [...COMPLETIONS, [['serve', '--data', 'p'], ['pets']] as const]) {
    const shown = execFileSync('bash', ['-c', complete, 'bash', ...line], { cwd }).toString();
    const isOffered = (word: string) => word !== '--help' || line.at(-1) === '--';
    const offered = shown.split('\n').filter((word) => word !== '' && isOffered(word));
    assert.deepEqual(offered, words, line.join(' '));
  }
});

test('fish completes commands, options, their values and files', where('fish'), async (t) => {
  const cwd = await newFolder(t, 'fish');
  for (const [line, words] of [...COMPLETIONS, [['serve', '--data', 'p'], ['pets/']] as const]) {
    const command = `source ./script; complete -C 'petstore ${line.join(' ')}'`;
    const shown = execFileSync('fish', ['--no-config', '-c', command], { cwd }).toString();
    const offered = shown
      .split('\n')
      .filter((each) => each !== '')
      .map((each) => (each.split('\t')[0] ?? '').replace('\\ ', ' '));
    assert.deepEqual(offered.toSorted(), words.toSorted(), line.join(' '));
  }
});

test('zsh completes commands, options, their values and files', where('zsh'), async (t) => {
  const cwd = await newFolder(t, 'zsh');
  // The Tab key completes the line in a terminal, and the command shows the words that came of it.
  const session = `zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1=; autoload -U compinit; compinit -u -D; source ./script; petstore() { print -r "GOT<\${(j:|:)@}>" }; print "REA""DY"'
zpty -r -m shell shown '*READY*'
for line in "$@"; do
  zpty -w -n shell "\${(g::)line}"
  zpty -r -m shell shown '*GOT<*>*'
  print -r -- "\${\${shown##*GOT<}%%>*}"
done`;
  const lines: [typed: string, words: string[]][] = [
    [
      'petstore k\\tcr\\t--ex\\t90d --env st\\t\\n',
      ['keys', 'create', '--expires', '90d', '--env', 'staging'],
    ],
    ['petstore pets l\\t--stat\\tso\\t--al\\t\\n', ['pets', 'list', '--status', 'sold', '--all']],
    ['petstore import all\\t--ski\\t\\n', ['import', 'all animals.csv', '--skip-invalid']],
    ['petstore serve --data p\\t\\n', ['serve', '--data', 'pets']],
    ['petstore completion z\\t\\n', ['completion', 'zsh']],
  ];
  const typed = lines.map(([line]) => line);
  const shown = execFileSync('zsh', ['-f', '-c', session, 'zsh', ...typed], {
    cwd,
    timeout: SHELL_MS_MAX,
  }).toString();
  assert.deepEqual(
    shown.trimEnd().split('\n'),
    lines.map(([, words]) => words.join('|')),
  );
  const script = readFileSync(join(cwd, 'script'), 'utf8');
  assert.ok(script.includes(" 'keys:Create, list, revoke and rotate API keys, "), script);
  assert.ok(script.includes("offers=('bash' 'zsh' 'fish')"));
});

/** The lines of the help for each shell, how a new shell shows that it completes, and what it then shows. */
const INSTALLED = {
  bash: [['-i', '-c', 'complete -p petstore'], 'complete -F _petstore petstore\n'],
  zsh: [['-i', '-c', 'print $_comps[petstore]'], '_petstore\n'],
  fish: [['-c', "complete -C 'petstore cop'"], 'copy\t'],
} as const;

for (const [shell, [args, shown]] of Object.entries(INSTALLED)) {
  test(`after the printed lines, a new ${shell} completes petstore`, where(shell), async (t) => {
    const home = mkdtempSync(join(tmpdir(), 'petstore-home-'));
    t.after(() => rmSync(home, { recursive: true, force: true }));
    mkdirSync(join(home, 'bin'));
    symlinkSync(MAIN, join(home, 'bin', 'petstore'));
    const { stdout } = await runHere(['completion', '--help']);
    const [, lines = ''] = new RegExp(`\\n${shell}:\\n((?: {2}.*\\n)+)`).exec(stdout) ?? [];
    const PATH = [join(home, 'bin'), dirname(process.execPath), process.env['PATH']].join(':');
    const options = { cwd: home, env: { HOME: home, PATH }, timeout: SHELL_MS_MAX };
    execFileSync(shell, ['-c', lines], options);
    // bash says on standard error that it has no terminal.
    const found = execFileSync(shell, args, { ...options, stdio: ['ignore', 'pipe', 'ignore'] });
    assert.ok(found.toString().startsWith(shown), `${lines}${found.toString()}`);
  });
}

test('another shell is refused in a message that names those that are known', async () => {
  const stdout = { write: () => true };
  await assert.rejects(
    execute(COMMANDS, ['completion', 'tcsh'], { env: {}, stdout, stderr: stdout }),
    { name: 'UsageError', message: 'SHELL is "tcsh": it must be one of bash, zsh, fish.' },
  );
});
