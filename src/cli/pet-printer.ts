import { styleText } from 'node:util';
import { PET_STATUSES, type Pet } from '../domain/pet.ts';
import type { Io, Output } from './command.ts';

/** Shows some animals; called again for each page of a list. */
export type PetPrinter = (pets: Pet[]) => void;

/** By hand, because JSON.stringify knows no bigint. Escaped control characters are still exact JSON. */
export function newJsonPrinter(stdout: Output): PetPrinter {
  return (found) => {
    for (const { id, name, categoryId, status } of found) {
      stdout.write(
        `{"id":${id},"name":${printable(JSON.stringify(name))},"categoryId":${categoryId},"status":"${status}"}\n`,
      );
    }
  };
}

const COLOURS = { available: 'green', pending: 'yellow', sold: 'gray' } as const;
const STATUS_WIDTH = Math.max(...PET_STATUSES.map((status) => status.length));

/** Prints page after page below one heading; the name comes last, so that no page waits for another. */
export function newTablePrinter({ stdout, env }: Pick<Io, 'stdout' | 'env'>): PetPrinter {
  const isColoured = stdout.isTTY === true && !env['NO_COLOR'];
  const style = (format: Parameters<typeof styleText>[0], text: string): string =>
    isColoured ? styleText(format, text, { validateStream: false }) : text;
  const widths = { id: 'ID'.length, category: 'CATEGORY'.length };
  let isHeaded = false;

  return (found) => {
    for (const { id, categoryId } of found) {
      widths.id = Math.max(widths.id, String(id).length);
      widths.category = Math.max(widths.category, String(categoryId).length);
    }
    if (!isHeaded && found.length > 0) {
      const cells = ['ID'.padStart(widths.id), 'STATUS'.padEnd(STATUS_WIDTH)];
      stdout.write(
        `${style('bold', [...cells, 'CATEGORY'.padStart(widths.category), 'NAME'].join('  '))}\n`,
      );
      isHeaded = true;
    }
    for (const { id, name, categoryId, status } of found) {
      const cells = [
        String(id).padStart(widths.id),
        style(COLOURS[status], status.padEnd(STATUS_WIDTH)),
        String(categoryId).padStart(widths.category),
        printable(name),
      ];
      stdout.write(`${cells.join('  ')}\n`);
    }
  };
}

/** What could steer a terminal or turn a line around is shown as its code. */
export function printable(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
