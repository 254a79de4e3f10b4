import { existsSync } from 'node:fs';
import { basename, delimiter, dirname, resolve, sep } from 'node:path';
import { isSea } from 'node:sea';
import type { Variables } from '../setting.ts';

const NAME = 'petstore';

/**
 * How this program was started, for texts that tell a person to run another command. In the registry,
 * `petstore` is a package of another author: `npx petstore` is suggested only where npx finds this one.
 */
export function programName(variables: Variables): string {
  if (isSea()) return namedByPath(process.argv0, process.execPath, variables);
  const script = process.argv[1] ?? '';
  const isLinked = basename(script) === NAME;
  // npm runs the scripts of a package in its folder, and there npx finds the command too.
  const isInModules = script.includes(`${sep}node_modules${sep}.bin${sep}`);
  const isFromNpm = variables['npm_lifecycle_event'] !== undefined;
  if (isFromNpm && (isInModules || !isLinked)) {
    const { npm_config_package: from } = variables;
    return from ? `npx --package=${shellQuoted(absolute(from))} ${NAME}` : `npx ${NAME}`;
  }
  if (isLinked) return namedByPath(script, script, variables);
  return /^petstore\.c?js$/.test(basename(script)) ? `node ${shellQuoted(script)}` : NAME;
}

/** A package for npx is a file or a URL. */
function absolute(from: string): string {
  return existsSync(from) ? resolve(from) : from;
}

/** The name alone if the shell finds it, else the whole path. */
function namedByPath(typed: string, path: string, { PATH = '' }: Variables): string {
  const isFound = typed === basename(typed) || PATH.split(delimiter).includes(dirname(path));
  return isFound ? basename(typed) : shellQuoted(path);
}

export function shellQuoted(text: string): string {
  return /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
