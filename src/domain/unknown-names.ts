/** How many unknown names, and how much of each, an error message repeats. */
const NAMES_MAX = 10;
const NAME_LENGTH_MAX = 40;

/** The names a caller invented, as an error message may repeat them. */
export function unknownNames(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_MAX).map((name) => name.slice(0, NAME_LENGTH_MAX));
  const rest = names.length - shown.length;
  return `${shown.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}
