// Makes the service as a single file: Node.js itself, with the program and the files that it reads inside.
// Such a file loads three scripts, so the program and the two threads are each bundled into one.

import { execFileSync } from 'node:child_process';
import { globSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { rolldown, type Plugin } from 'rolldown';
import { BUILD } from './build.ts';

const ROOT = dirname(import.meta.dirname);
/** As in `npm start`. */
const NODE_FLAGS = ['--max-semi-space-size=4'];
const WRITER = 'src/storage/sqlite/writer';

/** The modules of a bundle share one URL. With this one each, relative URLs still name the assets. */
const ownUrls: Plugin = {
  name: 'own-urls',
  transform(code, id) {
    const file = relative(ROOT, id).replaceAll('\\', '/');
    if (!file.startsWith('src/') || !code.includes('import.meta.url')) return undefined;
    return code.replaceAll('import.meta.url', `'asset:/${file}'`);
  },
};

/** Joins a script and everything that it imports. */
async function bundle(input: string, file: string, format: 'esm' | 'cjs'): Promise<void> {
  const bundled = await rolldown({
    input: join(ROOT, input),
    platform: 'node',
    plugins: [ownUrls],
    onLog: (level, { message }) => {
      if (level === 'warn') throw new Error(message);
    },
  });
  await bundled.write({ file: join(ROOT, file), format, codeSplitting: false, comments: false });
}

/** Every file of build/ that the program reads, by its path there. */
function assets(): Record<string, string> {
  const files = globSync('**/*.*', { cwd: BUILD, exclude: ['single-file'] })
    .filter((file) => file.endsWith('.browser.js') || !/\.js(on|\.map)?$/.test(file))
    .map((file) => file.replaceAll('\\', '/'));
  return Object.fromEntries(files.toSorted().map((file) => [`/${file}`, `build/${file}`]));
}

/** Writes the single file for this platform. build/ must be up to date. */
export async function makeSingleFile(output: string): Promise<void> {
  // The file contains the path of its script, so it must not depend on where the repository is.
  const main = 'build/single-file/main.mjs';
  const writer = 'build/single-file/writer.cjs';
  const config = 'build/single-file/config.json';
  await bundle('src/main.ts', main, 'esm');
  await bundle(`${WRITER}.ts`, writer, 'cjs');
  const settings = {
    main,
    mainFormat: 'module',
    output,
    disableExperimentalSEAWarning: true,
    // V8's code cache would save time at the start, but differs from build to build: the same sources must give the same file.
    useCodeCache: false,
    execArgv: NODE_FLAGS,
    execArgvExtension: 'none',
    assets: { ...assets(), [`/${WRITER}.js`]: writer },
  };
  writeFileSync(join(ROOT, config), JSON.stringify(settings));
  execFileSync(process.execPath, ['--build-sea', config], {
    cwd: ROOT,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}
