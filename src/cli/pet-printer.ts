import { petJson } from '../domain/json.ts';
import { PET_STATUSES, type Pet } from '../domain/pet.ts';
import type { Io, Output } from './command.ts';
import { newPaint, newTable, printable } from './terminal.ts';

/** Prints some animals; called once for each page of a list. */
export type PetPrinter = (pets: Pet[]) => void;

/** Prints one line per animal. JSON whose control characters are escaped is still exact. */
export function newJsonPrinter(stdout: Output): PetPrinter {
  return (found) => {
    for (const pet of found) stdout.write(`${printable(petJson(pet))}\n`);
  };
}

const COLOURS = { available: 'green', pending: 'yellow', sold: 'gray' } as const;
const STATUS_WIDTH = Math.max(...PET_STATUSES.map((status) => status.length));

/** Prints page after page below one heading. The name is last, because its width varies most. */
export function newTablePrinter(io: Pick<Io, 'stdout' | 'env'>): PetPrinter {
  const paint = newPaint(io);
  const render = newTable([{ alignRight: true }, { widthMin: STATUS_WIDTH }, { alignRight: true }]);
  let heading = [['ID', 'STATUS', 'CATEGORY', 'NAME'].map((title) => paint('bold', title))];

  return (found) => {
    if (found.length === 0) return;
    const rows = found.map(({ id, name, categoryId, status }) => [
      String(id),
      paint(COLOURS[status], status),
      String(categoryId),
      printable(name),
    ]);
    io.stdout.write(render([...heading, ...rows]));
    heading = [];
  };
}
