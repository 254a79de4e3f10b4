import { oneOf, parseValue } from '../setting.ts';
import { defineCommand, type Command, type CommandGroup, type Registry } from './command.ts';
import { loadAll } from './execute.ts';

/** What may follow the words of one command. */
interface Place {
  /** The words after `petstore`, such as `keys create`; empty for the program itself. */
  path: string;
  words: Word[];
  options: CompletedOption[];
  takesFiles: boolean;
}

interface Word {
  text: string;
  description: string;
}

interface CompletedOption extends Word {
  /** What its value may be; undefined for an option without a value. */
  values: readonly string[] | 'folders' | undefined;
}

const SHELLS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;
const SHELL_NAMES = Object.keys(SHELLS) as (keyof typeof SHELLS)[];

/** The command that writes a completion script, made from the definitions of all commands. */
export function newCompletion(registry: Registry): Command {
  return defineCommand({
    purpose: 'Write a script that completes commands and options in a shell',
    arguments: [{ name: 'SHELL', description: SHELL_NAMES.join(', '), choices: SHELL_NAMES }],
    notes: `Run the lines for your shell once. New shells then complete petstore, which must be on the PATH.

bash:
  echo 'source <(petstore completion bash)' >> ~/.bashrc
zsh:
  echo 'source <(petstore completion zsh)' >> ~/.zshrc
fish:
  mkdir -p ~/.config/fish/completions
  petstore completion fish \\
    > ~/.config/fish/completions/petstore.fish`,
    examples: ['completion bash', 'completion fish > petstore.fish'],
    async action({ arguments: [text = ''], io }) {
      const shell = parseValue('SHELL', oneOf(SHELL_NAMES), text);
      io.stdout.write(SHELLS[shell](placesOf([], await loadAll(registry))));
      return 0;
    },
  });
}

const HELP = { text: '--help', description: 'show this help', values: undefined };
const VERSION = { text: '--version', description: 'show versions', values: undefined };

function placesOf(path: readonly string[], found: Command | CommandGroup): Place[] {
  if ('commands' in found) {
    const members = Object.entries(found.commands);
    const words = members.map(([text, { purpose }]) => ({ text, description: purpose }));
    const options = path.length === 0 ? [HELP, VERSION] : [HELP];
    return [
      { path: path.join(' '), words, options, takesFiles: false },
      ...members.flatMap(([name, member]) => placesOf([...path, name], member)),
    ];
  }
  const settings = Object.entries(found.options).map(([name, { description, value, choices }]) => ({
    text: `--${name}`,
    description,
    values: value === 'FOLDER' ? ('folders' as const) : (choices ?? []),
  }));
  const switches = Object.entries(found.switches).map(([name, description]) => ({
    text: `--${name}`,
    description,
    values: undefined,
  }));
  const choices = found.arguments.flatMap((argument) => argument.choices ?? []);
  return [
    {
      path: path.join(' '),
      words: choices.map((text) => ({ text, description: '' })),
      options: [...settings, ...switches, HELP],
      takesFiles: found.arguments.some(({ name }) => name === 'FILE'),
    },
  ];
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** The patterns of a `case` that recognizes the next word of a command: `path word`. */
function steps(places: readonly Place[]): string {
  return places
    .filter(({ path }) => path !== '')
    .map(({ path }) => quoted(path.includes(' ') ? path : ` ${path}`))
    .join(' | ');
}

/** `case` branches for the value of an option: `path --option`. */
function valueBranches(
  places: readonly Place[],
  write: (values: NonNullable<CompletedOption['values']>) => string,
): string {
  const branches = places.flatMap(({ path, options }) =>
    options.flatMap(({ text, values }) =>
      values === undefined ? [] : [`    ${quoted(`${path} ${text}`)}) ${write(values)} ;;`],
    ),
  );
  return branches.join('\n');
}

function bashWords(words: readonly string[]): string {
  return `COMPREPLY=($(compgen -W ${quoted(words.join(' '))} -- "$current"))`;
}

/** Completes files (f) or folders (d), whose names may contain spaces. compopt fails outside of a completion. */
function bashFiles(kind: 'f' | 'd'): string {
  return `local IFS=$'\\n'; compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -${kind} -- "$current"))`;
}

function bashScript(places: readonly Place[]): string {
  const branches = places.map(({ path, words, options, takesFiles }) => {
    const texts = bashWords([...words, ...options].map(({ text }) => text));
    const reply = takesFiles
      ? `if [[ $current == -* ]]; then ${texts}; else ${bashFiles('f')}; fi`
      : texts;
    return `    ${quoted(path)}) ${reply} ;;`;
  });
  return `# Completion of petstore in bash.
_petstore() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD - 1]} path='' word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$path $word" in
      ${steps(places)}) path=\${path:+$path }$word ;;
    esac
  done
  case "$path $previous" in
${valueBranches(places, (values) => {
  return `${values === 'folders' ? bashFiles('d') : bashWords(values)}; return`;
})}
  esac
  case "$path" in
${branches.join('\n')}
  esac
}
complete -F _petstore petstore
`;
}

function zshDescribed({ text, description }: Word): string {
  return quoted(description === '' ? text : `${text}:${description}`);
}

function zshScript(places: readonly Place[]): string {
  const branches = places.map(({ path, words, options, takesFiles }) => {
    const parts = [
      ...(words.length === 0 ? [] : [`offers=(${words.map(zshDescribed).join(' ')})`]),
      `switches=(${options.map(zshDescribed).join(' ')})`,
      ...(takesFiles ? ['_files'] : []),
    ];
    return `    ${quoted(path)}) ${parts.join('; ')} ;;`;
  });
  return `#compdef petstore
# Completion of petstore in zsh.
_petstore() {
  local place='' word
  local -a offers switches
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$place $word" in
      ${steps(places)}) place="\${place:+$place }$word" ;;
    esac
  done
  case "$place \${words[CURRENT-1]}" in
${valueBranches(places, (values) => {
  return values === 'folders' ? '_files -/; return' : `compadd -- ${values.join(' ')}; return`;
})}
  esac
  case "$place" in
${branches.join('\n')}
  esac
  if [[ "\${words[CURRENT]}" == -* ]]; then _describe -o option switches; else _describe command offers; fi
}
if [[ "\${funcstack[1]}" == _petstore ]]; then
  _petstore "$@"
else
  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }
  compdef _petstore petstore
fi
`;
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll(/[\\']/g, String.raw`\$&`)}'`;
}

function fishScript(places: readonly Place[]): string {
  const lines = places.flatMap(({ path, words, options, takesFiles }) => {
    const at = `complete -c petstore -n ${fishQuoted(`__petstore_at ${path}`.trim())}`;
    return [
      ...words.map(({ text, description }) => `${at} -a ${text} -d ${fishQuoted(description)}`),
      ...options.map(({ text, description, values }) => {
        const name = `${at} -l ${text.slice('--'.length)} -d ${fishQuoted(description)}`;
        if (values === undefined) return name;
        if (values === 'folders') return `${name} -xa '(__fish_complete_directories)'`;
        return `${name} -x${values.length === 0 ? '' : `a ${fishQuoted(values.join(' '))}`}`;
      }),
      ...(takesFiles ? [`${at} -F`] : []),
    ];
  });
  return `# Completion of petstore in fish.
function __petstore_at
  set -l place
  for word in (commandline -opc)[2..]
    switch "$place $word"
      case ${steps(places).replaceAll(' | ', ' ')}
        set place (string trim "$place $word")
    end
  end
  test "$place" = "$argv"
end
complete -c petstore -f
${lines.join('\n')}
`;
}
