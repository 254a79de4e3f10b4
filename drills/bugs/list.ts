import { readFileSync } from 'node:fs';

/** A plausible bug. The judge knows no test: any test may notice it. */
export interface Bug {
  /** What is wrong, or what a user would suffer. */
  name: string;
  file: string;
  /** Occurs once in the file. */
  text: string;
  /** What the bug has in its place. */
  changed: string;
  /** No test notices it yet. The mark goes with the test that does. */
  isUnnoticed: boolean;
  /** Only this drill must find it: tests cannot, or did not when the bug was made. */
  drill: string | undefined;
}

const UNNOTICED = '? not noticed yet';
const DRILL = '? drill ';

/** Whoever fixes a defect adds it to this list. */
const LIST = new URL('bugs.txt', import.meta.url);

export function allBugs(): Bug[] {
  return parseBugs(readFileSync(LIST, 'utf8'));
}

/** In groups by file, each bug with its name, perhaps a mark, the lines that it removes, and those that it adds. */
export function parseBugs(text: string): Bug[] {
  const bugs: Bug[] = [];
  const groups = text.split(/^# /m).slice(1);
  for (const group of groups) {
    const [file = '', ...lines] = group.trimEnd().split('\n');
    const names = lines.flatMap((line, at) => (/^[-+?]( |$)/.test(line) ? [] : [at]));
    for (const [index, at] of names.entries()) {
      const block = lines.slice(at + 1, names[index + 1]);
      const linesWith = (mark: string) =>
        block.filter((line) => line.startsWith(mark)).map((line) => line.slice(2));
      bugs.push({
        name: lines[at] ?? '',
        file,
        text: linesWith('-').join('\n'),
        changed: linesWith('+').join('\n'),
        isUnnoticed: block.includes(UNNOTICED),
        drill: block.find((line) => line.startsWith(DRILL))?.slice(DRILL.length),
      });
    }
  }
  return bugs;
}

/** The content of the file with the bug. Throws if its text does not occur exactly once. */
export function withBug({ file, text, changed }: Bug, content: string): string {
  const count = content.split(text).length - 1;
  if (count !== 1) {
    throw new Error(`${file} has the text of the bug ${count} times, and not once: ${text}`);
  }
  return content.replace(text, () => changed);
}
