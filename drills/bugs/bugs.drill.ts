import { execFileSync } from 'node:child_process';
import { newRandom } from '../../harness/random.ts';
import { tierFiles } from './areas.ts';
import { drill, type DrillOptions } from '../drill.ts';
import { allBugs, type Bug } from './list.ts';
import { ownTest, tryBugs, tryWithUnits } from './trial.ts';

const ALL = allBugs();
/** Only bugs in files that so many last commits have changed. */
const { DRILL_COMMITS } = process.env;

// A bug is a text of a file, and what stands there instead. With it in a copy of the project, a test must fail by an
// assertion or an error that it throws, twice, and pass without it. A file that cannot be loaded and a test that runs out
// of time notice nothing. First runs the file that noticed the bug last, then those of the same area. Some bugs have a
// drill that must find them instead, in a quick run.
drill(
  'each bug of a list is noticed by a test',
  { unit: 'bugs', rounds: ALL.length, quickRounds: 3 },
  (options) => tryBugs(choose(options), options.onProgress),
  {
    'nothing is changed, a file cannot be loaded, a text is not there': {
      finds: [
        '(nothing) is not noticed',
        '(unloadable) is not noticed',
        'has the text of the bug 0 times',
      ],
      search: ({ onProgress }) => tryWithUnits(brokenBugs(), onProgress),
    },
  },
);

/** All bugs, or some at random. If none of their files has changed, the first. */
function choose({ rounds, seed }: DrillOptions): Bug[] {
  const changed = DRILL_COMMITS === undefined ? undefined : filesChangedIn(Number(DRILL_COMMITS));
  const recent = ALL.filter(({ file }) => changed?.has(file) ?? true);
  const waiting = recent.length > 0 ? recent : ALL.slice(0, 1);
  const random = newRandom(seed);
  const chosen: Bug[] = [];
  while (chosen.length < rounds && waiting.length > 0) {
    chosen.push(...waiting.splice(random.integer(waiting.length), 1));
  }
  // A bug that nothing notices takes the longest.
  return chosen.toSorted((one, other) => Number(one.isUnnoticed) - Number(other.isUnnoticed));
}

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: import.meta.dirname, encoding: 'utf8' });
}

/** Also what is not committed. A clone with fewer commits has all files changed. */
function filesChangedIn(commits: number): Set<string> | undefined {
  const count = Number(git('rev-list', '--count', '--first-parent', 'HEAD'));
  if (count <= commits) return undefined;
  return new Set(git('diff', '--name-only', `HEAD~${commits}`).split('\n'));
}

function brokenBugs(): Bug[] {
  const tier = tierFiles();
  const bug = ALL.find((each) => tier.includes(ownTest(each)));
  if (bug === undefined) throw new Error('no file of a bug has a unit test');
  return [
    { ...bug, name: '(nothing)', changed: bug.text },
    { ...bug, name: '(unloadable)', changed: '((' },
    { ...bug, name: '(missing)', text: 'there is no such text' },
  ];
}
