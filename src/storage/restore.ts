// What a restored store must know of the time after its backup: the ids that were assigned, and the keys that ended.

import type { ApiKey } from '../domain/api-key.ts';
import { INT64_MAX } from '../domain/int64.ts';
import { StoreUnusable } from '../domain/store.ts';
import type { StoreIdentity } from '../domain/store-identity.ts';

/** Four times as many as an import assigns. */
const IDS_SKIPPED_PER_MS = 1_000n;
/** The ids of ten more seconds, because the clocks of two machines may differ. */
const IDS_SKIPPED_MIN = 10_000_000n;
const IDS_LEFT_MIN = 2n ** 32n;
/** Earlier versions did not record when a backup was made. None was made before this day. */
const FIRST_BACKUP_AT = new Date('2026-01-01T00:00:00Z');

/** What a file says of its store. */
export interface Past {
  /** Undefined for a store of an earlier version. */
  identity: StoreIdentity | undefined;
  lastId: bigint;
  keys: ApiKey[];
}

/** Why the past of the former file does not count, or undefined if it does. */
export function whyPastUnknown(backup: Past, former: Past | undefined): string | undefined {
  if (former === undefined) return 'there is no intact former file';
  if (!isSameStore(backup, former)) return 'the former file is not known to be of the same store';
  // With the same last id it may be a copy of the backup that was put in place by hand.
  return former.lastId <= backup.lastId
    ? 'the former file is not newer than the backup'
    : undefined;
}

export function isSameStore(backup: Past, former: Past): boolean {
  return former.identity !== undefined && former.identity.id === backup.identity?.id;
}

/**
 * The id above which new ids begin, so that none is assigned again. If the past is unknown, more ids are skipped
 * than can have been assigned since the backup. Their number grows with time, so that a second restore of the
 * same backup begins above all ids that were assigned after the first.
 */
export function lastIdAfterRestore(
  backup: Past & { madeAt: Date | undefined },
  former: Past | undefined,
  { idsAbove, now }: { idsAbove?: bigint | undefined; now: Date },
): bigint {
  const known = max(backup.lastId, former?.lastId ?? 0n);
  const highest = INT64_MAX - IDS_LEFT_MIN;
  const lastId = idsAbove ?? (whyPastUnknown(backup, former) === undefined ? known : skip());
  if (lastId >= known && lastId <= highest) return lastId;
  throw refused(`new ids cannot begin above ${lastId}`);

  function skip(): bigint {
    const elapsedMs = now.getTime() - (backup.madeAt ?? FIRST_BACKUP_AT).getTime();
    if (elapsedMs < 0) throw refused('the backup is from the future, as the clock says');
    return max(known, backup.lastId + IDS_SKIPPED_MIN + BigInt(elapsedMs) * IDS_SKIPPED_PER_MS);
  }

  function refused(reason: string): StoreUnusable {
    return new StoreUnusable(`${reason}: --ids-above must name an id from ${known} to ${highest}.`);
  }
}

/** The keys of both files. One that is in both is revoked if either says so, and ends at the earlier end. */
export function uniteKeys(backup: readonly ApiKey[], former: readonly ApiKey[]): ApiKey[] {
  const united = new Map(backup.map((key) => [key.hash, key]));
  for (const key of former) {
    const other = united.get(key.hash) ?? key;
    const expiresAt = earlier(key.expiresAt, other.expiresAt);
    const revokedAt = earlier(key.revokedAt, other.revokedAt);
    united.set(key.hash, { ...other, expiresAt, revokedAt });
  }
  return [...united.values()];
}

function max(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}

function earlier(one: Date | undefined, other: Date | undefined): Date | undefined {
  return one === undefined || (other !== undefined && other < one) ? other : one;
}
