// The program runs in three forms: from a clone, as TypeScript; from the npm package, as JavaScript in the
// same folders; and from a single file, where scripts and other files are assets inside the executable.
// Only this file knows the difference.

import type { ClusterSettings } from 'node:cluster';
import { readdirSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname } from 'node:path';
import { getAsset, getAssetKeys, isSea } from 'node:sea';
import { fileURLToPath } from 'node:url';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import manifest from '../../package.json' with { type: 'json' };

/** The version of the program. That of the interface is in the OpenAPI document. */
export const VERSION = manifest.version;

const isSingleFile = isSea();
const isClone = !isSingleFile && import.meta.url.endsWith('.ts');

/** The folder of the clone that the program runs from, if it does. */
export const CLONE = isClone
  ? dirname(dirname(dirname(fileURLToPath(import.meta.url))))
  : undefined;

/** The text of a file of the program. Outside of a clone, scripts for browsers have no types any more. */
export function readProgramFile(file: URL): string {
  const stored = isClone ? file : new URL(file.href.replace(/\.ts$/, '.browser.js'));
  return isSingleFile ? getAsset(stored.pathname, 'utf8') : readFileSync(stored, 'utf8');
}

/** The names of the files in a folder of the program. */
export function listProgramFolder(folder: URL): string[] {
  if (!isSingleFile) return readdirSync(folder);
  const prefix = folder.pathname;
  return getAssetKeys()
    .filter((key) => key.startsWith(prefix))
    .map((key) => key.slice(prefix.length));
}

/** Removes the types of a script for browsers that was read from a clone. */
export function withoutTypes(source: string): string {
  return isClone ? stripTypeScriptTypes(source) : source;
}

/** Starts a script of the program, named by its TypeScript file, in a thread. */
export function startThread(script: URL, options: WorkerOptions): Worker {
  if (isClone) return new Worker(script, options);
  const built = new URL(script.href.replace(/\.ts$/, '.js'));
  if (!isSingleFile) return new Worker(built, options);
  return new Worker(getAsset(built.pathname, 'utf8'), { ...options, eval: true });
}

/**
 * How workers are started, so that they get the arguments of this process. Node.js passes the name of a
 * script before them. A single file has no script: its first argument takes that place.
 */
export function workerSettings([, , exec = '', ...args]: readonly string[]): ClusterSettings {
  return isSingleFile ? { exec, args, execArgv: [] } : {};
}
