/** The text without accents and case, so that "bélla" finds "Bella". */
export function fold(text: string): string {
  return text.trim().normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();
}

/** A count as people read it: 12,345. Ids and categories are not grouped, because people copy them. */
export function grouped(count: number): string {
  return count.toLocaleString('en');
}

export function counted(animals: number): string {
  return `${grouped(animals)} animal${animals === 1 ? '' : 's'}`;
}
