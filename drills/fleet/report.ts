const VIOLATIONS_SHOWN_MAX = 20;

/** Prints the first violations and their number, and returns the exit code. */
export function printViolations(violations: readonly string[]): number {
  for (const violation of violations.slice(0, VIOLATIONS_SHOWN_MAX)) {
    process.stdout.write(`VIOLATION ${violation}\n`);
  }
  process.stdout.write(`${violations.length} violations\n`);
  return violations.length === 0 ? 0 : 1;
}

/** Parses a count of the command line. Exits with 2 if it is not one. */
export function parseCount(flag: string, text: string): number {
  const count = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (count > 0) return count;
  process.stderr.write(`${flag} is "${text}": it must be an integer from 1 to 999999999.\n`);
  return process.exit(2);
}
