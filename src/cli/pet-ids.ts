import { createReadStream } from 'node:fs';
import { UsageError } from '../setting.ts';
import { INT64_MAX } from '../domain/int64.ts';
import { printable } from '../domain/printable.ts';
import type { Io } from './command.ts';

/** One transaction changes all of them, and other writes wait for it. */
export const IDS_MAX = 10_000;
const AT_MOST = `at most ${IDS_MAX.toLocaleString('en-US')} animals can be changed at once`;
const FILE_BYTES_MAX = 1024 * 1024;
/** How much of a faulty id a message repeats. */
const SHOWN_LENGTH_MAX = 40;

/** The ids of the arguments and of the file, each once. */
export async function readIds(
  ids: readonly string[],
  fromFile: string | undefined,
  io: Io,
): Promise<bigint[]> {
  const lines = fromFile === undefined ? [] : await readLines(fromFile, io);
  const all = new Set([...ids.map((id) => parseId(id)), ...lines]);
  if (all.size === 0) {
    throw new UsageError('the ids of the animals are missing: name them, or use --from-file.');
  }
  if (all.size > IDS_MAX) throw new UsageError(`${all.size} ids are too many: ${AT_MOST}.`);
  return [...all];
}

function parseId(text: string, where = ''): bigint {
  const id = /^\d{1,19}$/.test(text) ? BigInt(text) : undefined;
  if (id !== undefined && id <= INT64_MAX) return id;
  const shown = printable(
    text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX)}…` : text,
  );
  throw new UsageError(`${where}"${shown}" is not the id of an animal: it must be a whole number.`);
}

async function readLines(file: string, io: Io): Promise<bigint[]> {
  const name = file === '-' ? 'standard input' : file;
  const stream = file === '-' ? (io.stdin ?? process.stdin) : createReadStream(file);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of stream) {
      bytes += chunk.length;
      if (bytes > FILE_BYTES_MAX) throw new UsageError(`${name} is too long: ${AT_MOST}.`);
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(
      `"${file}" cannot be read: --from-file needs a file of ids, one per line, or - for standard input.`,
    );
  }
  // The decoder removes a byte order mark.
  const lines = new TextDecoder().decode(Buffer.concat(chunks)).split('\n');
  return lines.flatMap((line, index) => {
    const text = line.trim();
    return text === '' ? [] : [parseId(text, `line ${index + 1} of ${name}: `)];
  });
}
