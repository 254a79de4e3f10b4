// Puts a bug of the list into a process, before its own code is loaded. The name of the bug follows a question mark in
// the address of this file.

import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { allBugs, withBug } from '../bugs/list.ts';

const name = decodeURIComponent(new URL(import.meta.url).search.slice(1));
const bug = allBugs().find((each) => each.name === name);
if (bug === undefined) throw new Error(`there is no bug "${name}"`);
const { href } = new URL(`../../${bug.file}`, import.meta.url);

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (url !== href) return loaded;
    const content = readFileSync(new URL(url), 'utf8');
    return { ...loaded, source: withBug(bug, content) };
  },
});
