import { hostname } from 'node:os';
import { pino, type Logger } from 'pino';

export type LogLevel = 'silent' | 'fatal' | 'error' | 'warn' | 'info' | 'debug';

export type Log = Logger;

interface LogTarget {
  write(text: string): unknown;
  isTTY?: boolean;
  /** Bytes that were written and not read yet. */
  writableLength?: number;
}

/** Lines beyond this many unread bytes are dropped, so that a stopped reader does not fill the memory. */
const UNREAD_BYTES_MAX = 1024 * 1024;

/** Opens a log: one JSON object per line that names its process, or plain text on a terminal. */
export function openLog(level: LogLevel, target: LogTarget): Log {
  const options = {
    level,
    base: { instance: `${hostname()}:${process.pid}` },
    formatters: { level: (name: string) => ({ level: name }) },
    timestamp: pino.stdTimeFunctions.isoTime,
  };
  let dropped = 0;
  const write = (line: string): void => {
    if ((target.writableLength ?? 0) > UNREAD_BYTES_MAX) {
      dropped += 1;
      return;
    }
    if (dropped > 0) {
      const lines = dropped;
      dropped = 0;
      log.warn({ lines }, 'log lines were dropped because nobody read them');
    }
    target.write(target.isTTY === true ? readable(line) : line);
  };
  const log = pino(options, { write });
  return log;
}

function readable(line: string): string {
  const { level, time, msg, instance: _, ...rest } = JSON.parse(line) as Record<string, unknown>;
  const details = Object.entries(rest).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  const clock = typeof time === 'string' ? time.slice(11, 19) : '';
  return `${[clock, String(level).padEnd(5), typeof msg === 'string' ? msg : '', ...details].join(' ')}\n`;
}
