const VIOLATIONS_SHOWN_MAX = 20;

/** Prints the violations and returns the exit code. */
export function conclude(violations: readonly string[]): number {
  for (const violation of violations.slice(0, VIOLATIONS_SHOWN_MAX)) {
    process.stdout.write(`VIOLATION ${violation}\n`);
  }
  process.stdout.write(`${violations.length} violations\n`);
  return violations.length === 0 ? 0 : 1;
}

/** A count from the command line. */
export function parseCount(flag: string, text: string): number {
  const count = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (count > 0) return count;
  process.stderr.write(`${flag} is "${text}": it must be an integer from 1 to 999999999.\n`);
  return process.exit(2);
}
