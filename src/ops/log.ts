import { pino, type Logger } from 'pino';

export const LOG_LEVELS = ['silent', 'fatal', 'error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export type Log = Logger;

const LEVEL_NAME: Record<number, string> = {
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
};

export interface LogTarget {
  write(text: string): unknown;
  isTTY?: boolean;
}

/** Opens the log: one JSON object a line, or a readable line where a person is watching. */
export function openLog(level: LogLevel, target: LogTarget): Log {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  const destination =
    target.isTTY === true ? { write: (line: string) => target.write(readable(line)) } : target;
  return pino(options, destination as { write(line: string): void });
}

function readable(line: string): string {
  const { level, time, msg, ...rest } = JSON.parse(line) as Record<string, unknown>;
  const details = Object.entries(rest).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  const clock = typeof time === 'string' ? time.slice(11, 19) : '';
  const name = (LEVEL_NAME[Number(level)] ?? String(level)).padEnd(5);
  return `${[clock, name, typeof msg === 'string' ? msg : '', ...details].join(' ')}\n`;
}
