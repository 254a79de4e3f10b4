// Which test files may notice a change of a file of the product: those of the same folder, then those of the
// folders that go with it.

import { dirname } from 'node:path';
import { filesOf, unitTestFiles } from '../../harness/suites.ts';

interface Area {
  /** Of the changed file. The first area that fits counts. */
  prefix: string;
  /** Units, recordings and contracts, beside the tests of the folder itself. */
  near: readonly string[];
  /** Processes, faults and pages. */
  far: readonly string[];
}

const INTERFACE = ['test/golden', 'test/interface'];
const AREAS: readonly Area[] = [
  {
    prefix: 'src/domain/',
    near: ['src/http', ...INTERFACE],
    far: ['src/storage/sqlite', 'src/cli', 'check', 'sdk/src'],
  },
  {
    prefix: 'src/http/',
    near: ['src/http', ...INTERFACE],
    far: ['test/process', 'test/faults'],
  },
  {
    prefix: 'src/storage/postgres/',
    near: INTERFACE,
    far: ['test/process', 'test/faults', 'src/cli'],
  },
  {
    prefix: 'src/storage/',
    near: ['src/storage', ...INTERFACE],
    far: ['test/faults', 'test/process', 'src/cli'],
  },
  { prefix: 'src/web/docs/content/', near: ['src/web', 'test/golden'], far: ['test/web/samples'] },
  {
    prefix: 'src/web/',
    near: ['src/web', 'test/golden'],
    // The stories notice most. Looking at every state for accessibility takes a minute.
    far: ['test/web/long', 'test/web', 'test/interface'],
  },
  { prefix: 'src/pet-file/', near: ['src/cli', 'test/golden'], far: ['test/process', 'test/web'] },
  { prefix: 'src/ops/', near: ['src/http', ...INTERFACE], far: ['test/process', 'test/faults'] },
  {
    prefix: 'src/cli/',
    near: ['test/golden'],
    far: ['test/project', 'test/process', 'test/long', 'test/packaging'],
  },
  {
    prefix: 'src/',
    near: ['src/http', ...INTERFACE],
    far: ['src/cli', 'test/process', 'test/faults', 'test/long'],
  },
  {
    prefix: 'sdk/',
    near: ['sdk'],
    far: ['check', 'test/project', 'test/process', 'test/packaging'],
  },
  { prefix: 'check/', near: ['check', 'test/golden'], far: ['test/interface'] },
  {
    prefix: '',
    near: ['test/project', 'test/golden'],
    far: ['test/process', 'test/packaging', 'test/long', 'test/faults', 'test/interface', 'test'],
  },
];

/** The files of the suites `normal` and `long`. Those of the list of bugs fail with any bug: its text is missing. */
export function tierFiles(): string[] {
  const files = [...unitTestFiles(), ...filesOf('normal'), ...filesOf('long')];
  return files.filter((file) => file.endsWith('.test.ts') && !file.startsWith('drills/bugs/'));
}

/** Those of the test files that may notice a change, with the most likely and cheapest first. */
export function testsFor(
  file: string,
  all: readonly string[],
  { isNearOnly = false } = {},
): string[] {
  const { near, far } = areaOf(file);
  const own = file.slice(0, file.lastIndexOf('.'));
  const folders = [dirname(file), ...near, ...(isNearOnly ? [] : far)];
  const beside = all.filter((test) => test.startsWith(`${own}.`));
  const others = folders.flatMap((folder) => all.filter((test) => test.startsWith(`${folder}/`)));
  return [...new Set([...beside, ...others])];
}

function areaOf(file: string): Area {
  const area = AREAS.find(({ prefix }) => file.startsWith(prefix));
  if (area === undefined) throw new Error(`no area has ${file}`);
  return area;
}
