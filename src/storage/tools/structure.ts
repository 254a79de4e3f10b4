// What a store is made of, compared with a new store.

/** A part of a store: of a table, or by itself where `table` is ''. */
export type Part = [kind: string, table: string, name: string, definition: string];

/** A program of somebody's own may add these. A trigger, a view or a rule changes what the statements of the store do. */
const HARMLESS = ['table', 'column', 'index'];
/** Of an index or a column that refuses rows of the store. */
const REFUSES_ROWS = /^UNIQUE |NOT NULL(?! DEFAULT)/;

export interface Comparison {
  problems: string[];
  warnings: string[];
  /** Whether each table and column is there, so that statements can be run. */
  isWhole: boolean;
}

export function compareStructure(found: readonly Part[], ofNew: readonly Part[]): Comparison {
  const more = onlyIn(found, ofNew);
  const missing = onlyIn(ofNew, found);
  const wanted = new Map(ofNew.map((part) => [keyOf(part), part[3]]));
  const different = found.flatMap((part) => {
    const [now, right] = [part[3], wanted.get(keyOf(part)) ?? part[3]];
    return now === right ? [] : [`${words(part)} is "${now}": it must be "${right}"`];
  });
  const isHarmless = ([kind, , , definition]: Part) =>
    HARMLESS.includes(kind) && !REFUSES_ROWS.test(definition);
  const refused = more.filter((part) => !isHarmless(part));
  return {
    problems: [
      ...missing.map((part) => `${words(part)} is missing`),
      ...different,
      ...refused.map((part) => `${words(part)} is not the pet store's: remove it`),
    ],
    warnings: more.filter(isHarmless).map((part) => `${words(part)} is not the pet store's`),
    isWhole: missing.every(([kind]) => kind !== 'table' && kind !== 'column'),
  };
}

/** The parts that others do not have; of a table that others do not have, the table alone. */
function onlyIn(parts: readonly Part[], others: readonly Part[]): Part[] {
  const known = new Set(others.map(keyOf));
  const only = parts.filter((part) => !known.has(keyOf(part)));
  const tables = new Set(only.filter(([kind]) => kind === 'table').map(([, , name]) => name));
  return only.filter(([, table]) => !tables.has(table));
}

const keyOf = ([kind, table, name]: Part) => JSON.stringify([kind, table, name]);
const words = ([kind, table, name]: Part) =>
  `the ${kind} ${name}${table === '' ? '' : ` of ${table}`}`;
