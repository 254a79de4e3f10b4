/** The index of the column of each field; undefined for a table without a status. */
export type Columns = Record<'name' | 'categoryId', number> & { status: number | undefined };
export type Field = keyof Columns;

/** Columns that may still be unknown. */
export type ColumnGuess = Record<Field, number | undefined>;

const FIELDS = new Map<string, Field>([
  ['name', 'name'],
  ['categoryid', 'categoryId'],
  ['category', 'categoryId'],
  ['status', 'status'],
]);

/** The field that a heading names. Case and the space around it do not matter. */
export function fieldOf(heading: string): Field | undefined {
  return FIELDS.get(heading.trim().toLowerCase());
}

/** Two to three numbers, counted from 1: the columns of name, category and status. */
export function parseColumns(text: string): Columns | undefined {
  if (!/^[1-9]\d{0,3}(?:,[1-9]\d{0,3}){1,2}$/.test(text)) return undefined;
  const [name = 0, categoryId = 0, status] = text.split(',').map((number) => Number(number) - 1);
  const isDistinct = name !== categoryId && name !== status && categoryId !== status;
  return isDistinct ? { name, categoryId, status } : undefined;
}
