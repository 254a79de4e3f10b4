import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { firstSentence, UsageError } from '../config.ts';
import { StoreUnusable } from '../domain/store.ts';
import {
  copyCatalogue,
  CopyRefused,
  KINDS,
  type CopySource,
  type CopyTarget,
  type OnProgress,
  type Tallies,
} from '../storage/copy.ts';
import type { Io, Output } from './command.ts';

const BAR_WIDTH = 30;
const BAR_INTERVAL_MS = 100;

/** One end of a copy: a file (`sqlite:PATH`) or a database (`postgres://…`). */
interface End {
  /** How it is named to people, and in the marker: without a password. */
  name: string;
  openSource: () => Promise<CopySource>;
  openTarget: () => Promise<CopyTarget>;
}

/** Carries a whole catalogue from one store to another, and compares both in the end. */
export async function copy(args: string[], io: Io): Promise<number> {
  const { from, to } = parse(args);
  const [source, target] = [await parseEnd('--from', from), await parseEnd('--to', to)];
  if (source.name === target.name) {
    throw new UsageError('--from and --to name the same catalogue: they must be two.');
  }
  const bar = newBar(io.stderr);
  const reader = await source.openSource();
  try {
    const writer = await target.openTarget();
    try {
      const options = { sourceName: source.name, onProgress: bar.show };
      const found = await copyCatalogue(reader, writer, options);
      bar.clear();
      io.stdout.write(comparison(found));
      return 0;
    } finally {
      await writer.close();
    }
  } catch (error) {
    if (error instanceof StoreUnusable) throw error;
    bar.clear();
    io.stderr.write(`petstore: ${target.name}: ${reasonOf(error)}.\n`);
    return 1;
  } finally {
    await reader.close();
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof CopyRefused) return error.message;
  const reason = error instanceof Error ? error.message : String(error);
  return `the copy stopped (${reason}): run it again to go on`;
}

function parse(args: string[]): { from: string; to: string } {
  try {
    const options = { from: { type: 'string' }, to: { type: 'string' } } as const;
    const { from, to } = parseArgs({ args, options, strict: true }).values;
    if (from !== undefined && to !== undefined) return { from, to };
  } catch (error) {
    throw new UsageError(firstSentence(error));
  }
  throw new UsageError(
    'copy needs --from and --to, each sqlite:FILE or postgres://user:password@host:port/database.',
  );
}

async function parseEnd(flag: string, text: string): Promise<End> {
  if (text.startsWith('sqlite:') && text.length > 'sqlite:'.length) {
    const { openSqliteSource, openSqliteTarget } = await import('../storage/sqlite/copy.ts');
    const file = resolve(text.slice('sqlite:'.length));
    return {
      name: `sqlite:${file}`,
      openSource: async () => openSqliteSource(file),
      openTarget: async () => openSqliteTarget(file),
    };
  }
  if (/^postgres(?:ql)?:/.test(text)) {
    const { openPostgresSource, openPostgresTarget } = await import('../storage/postgres/copy.ts');
    const { parseAddress } = await import('../storage/postgres/address.ts');
    return {
      name: parseAddress(text).shown,
      openSource: () => openPostgresSource(text),
      openTarget: () => openPostgresTarget(text),
    };
  }
  throw new UsageError(
    `${flag} must be sqlite:FILE or postgres://user:password@host:port/database.`,
  );
}

/** A bar for a person who watches; silent where nobody does. */
function newBar(output: Output): { show: OnProgress; clear: () => void } {
  if (output.isTTY !== true) return { show: () => undefined, clear: () => undefined };
  let shownAt = 0;
  return {
    show(done, total) {
      const now = performance.now();
      if (done < total && now - shownAt < BAR_INTERVAL_MS) return;
      shownAt = now;
      const part = total === 0 ? 1 : Math.min(1, done / total);
      const filled = Math.round(part * BAR_WIDTH);
      const bar = '█'.repeat(filled) + '░'.repeat(BAR_WIDTH - filled);
      output.write(`\r${bar} ${Math.floor(part * 100)} % of ${total} animals`);
    },
    clear: () => output.write('\r\u001b[2K'),
  };
}

function comparison({ source, target }: { source: Tallies; target: Tallies }): string {
  const rows = KINDS.map((kind) => [
    kind,
    String(source[kind].count),
    String(target[kind].count),
    source[kind].checksum,
    target[kind].checksum,
  ]);
  const table = [
    ['', 'SOURCE', 'TARGET', 'SHA-256 OF THE SOURCE', 'SHA-256 OF THE TARGET'],
    ...rows,
    ['last id', String(source.lastId), String(target.lastId)],
  ];
  const widths = [0, 1, 2, 3, 4].map((column) =>
    Math.max(...table.map((row) => row[column]?.length ?? 0)),
  );
  const lines = table.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return `${lines.join('\n')}\n`;
}
