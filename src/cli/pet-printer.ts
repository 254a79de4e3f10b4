import { petJson } from '../domain/json.ts';
import { PET_STATUSES, type Pet } from '../domain/pet.ts';
import { printable } from '../domain/printable.ts';
import type { Io, Output } from './command.ts';
import { listPrinter, newPaint } from './terminal.ts';

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
/** Ids grow from page to page, and the first page decides the width. */
const ID_WIDTH_MIN = 6;

/** Prints page after page. The name is last, because its width varies most. */
export function newTablePrinter(io: Pick<Io, 'stdout' | 'env'>): PetPrinter {
  const paint = newPaint(io);
  const print = listPrinter(io, [
    { title: 'ID', alignRight: true, widthMin: ID_WIDTH_MIN },
    { title: 'STATUS', widthMin: STATUS_WIDTH },
    { title: 'CATEGORY', alignRight: true },
    { title: 'NAME', fit: 'cut' },
  ]);
  return (found) =>
    print(
      found.map(({ id, name, categoryId, status }) => [
        String(id),
        paint(COLOURS[status], status),
        String(categoryId),
        printable(name),
      ]),
    );
}
