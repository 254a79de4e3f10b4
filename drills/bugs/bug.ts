/** A plausible bug, and the test that must find it. */
export interface Bug {
  file: string;
  /** Occurs once in the file. */
  text: string;
  /** What the bug has in its place. */
  changed: string;
  /** The test file, and the title of the test that must fail. */
  test: string;
  title: string;
}

/** The content of the file with the bug. Throws if its text does not occur exactly once. */
export function withBug({ file, text, changed }: Bug, content: string): string {
  const count = content.split(text).length - 1;
  if (count !== 1) {
    throw new Error(`${file} has the text of the bug ${count} times, and not once: ${text}`);
  }
  return content.replace(text, () => changed);
}
