import { ERRORS } from '../../domain/errors.ts';
import type { Failure, FigureReader } from './history.ts';

/** What needs a person, and what that person can do. */
interface Problem {
  title: string;
  remedy: string;
}

/** As the alerts in contrib/prometheus. */
const DISK_FREE_MIN = 0.05;
const BACKUP_SECONDS_MAX = 2 * 86_400;
const MIB = 1024 ** 2;
const GIB = 1024 ** 3;
/** A date with hours and minutes in an ISO date. */
const MINUTES_LENGTH = 16;

const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
] as const;

/** The most urgent first. */
export function problemsOf(
  { subject, isReady, now }: { subject: string; isReady: boolean; now: Date },
  latest: FigureReader,
): Problem[] {
  const problems: Problem[] = [];
  if (!isReady) {
    problems.push({
      title: `${subject} is not ready`,
      remedy: 'Its store does not respond. The log has the cause.',
    });
  } else if (hasFailed(latest)) {
    problems.push({
      title: 'The store cannot take new animals',
      remedy:
        'Those it has can be read. The log has the cause: often a full disk, otherwise what petstore verify finds. The next animal that is stored ends this message.',
    });
  }
  const share = diskShare(latest);
  if (share !== undefined && share < DISK_FREE_MIN) {
    problems.push({
      title: 'The disk of the store is nearly full',
      remedy:
        'Move backups, and the logs of other programs, to another disk. Leave petstore.sqlite-wal alone: it has the newest animals.',
    });
  }
  const seconds = backupAge(latest, now);
  if (seconds !== undefined && seconds > BACKUP_SECONDS_MAX) {
    problems.push({
      title: 'The newest backup is older than two days',
      remedy: 'Run petstore backup --keep, and see why its timer did not.',
    });
  }
  return problems;
}

function hasFailed(latest: FigureReader): boolean {
  return (latest.find('petstore_last_write_failed') ?? 0) > 0;
}

function newAnimals(latest: FigureReader, isReady: boolean): string | undefined {
  if (latest.find('petstore_last_write_failed') === undefined) return undefined;
  return isReady && !hasFailed(latest) ? 'accepted' : 'refused';
}

function diskShare(latest: FigureReader): number | undefined {
  const free = latest.find('petstore_disk_free_bytes');
  const size = latest.find('petstore_disk_size_bytes');
  return free === undefined || size === undefined || size === 0 ? undefined : free / size;
}

function diskFree(latest: FigureReader): string | undefined {
  const share = diskShare(latest);
  if (share === undefined) return undefined;
  const bytes = latest.find('petstore_disk_free_bytes') ?? 0;
  const amount = bytes < GIB ? `${Math.floor(bytes / MIB)} MiB` : `${(bytes / GIB).toFixed(1)} GiB`;
  return `${amount} (${Math.floor(100 * share)} %)`;
}

/** In seconds; undefined before the first backup. */
function backupAge(latest: FigureReader, now: Date): number | undefined {
  const seconds = latest.find('petstore_last_backup_timestamp_seconds');
  return seconds === undefined ? undefined : Math.max(0, now.getTime() / 1000 - seconds);
}

/** Undefined on PostgreSQL, whose backups are not known here. */
function newestBackup(latest: FigureReader, now: Date): string | undefined {
  const seconds = backupAge(latest, now);
  if (seconds !== undefined) return `${durationText(1000 * seconds)} old`;
  return diskShare(latest) === undefined ? undefined : 'none with --keep';
}

function failureText({ at, code, isOfWrite }: Failure): string {
  const minute = at.toISOString().slice(0, MINUTES_LENGTH).replace('T', ' ');
  const words = isOfWrite ? 'The store could not take new animals.' : ERRORS[code].meaning;
  return `${minute} UTC: ${words}`;
}

/** What a person looks at first. */
export function stateOf(
  latest: FigureReader,
  lastFailure: Failure | undefined,
  { isReady, now }: { isReady: boolean; now: Date },
): [name: string, value: string | undefined][] {
  return [
    ['New animals', newAnimals(latest, isReady)],
    ['Disk free', diskFree(latest)],
    ['Newest backup', newestBackup(latest, now)],
    ['Last failure', lastFailure ? failureText(lastFailure) : 'none since the start'],
  ];
}

/** The two largest units: "3 d 4 h", "12 min", or "under a minute". */
export function durationText(milliseconds: number): string {
  let seconds = milliseconds / 1000;
  const parts: string[] = [];
  for (const [unit, size] of UNITS) {
    const count = Math.floor(seconds / size);
    seconds -= count * size;
    if (count > 0) parts.push(`${count} ${unit}`);
  }
  return parts.slice(0, 2).join(' ') || 'under a minute';
}
