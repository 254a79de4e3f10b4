import { testsFor } from './areas.ts';
import type { Bug } from './list.ts';
import type { NoticeRecord } from './record.ts';

export interface Known {
  bugs: readonly Bug[];
  record: NoticeRecord;
  /** All test files that may notice a bug. */
  tier: readonly string[];
}

/** The file that noticed the bug last, those that noticed others of its file, then those of its area. */
export function searchOrder(bug: Bug, { bugs, record, tier }: Known): string[] {
  const siblings = bugs.filter(({ file }) => file === bug.file);
  const last = [bug, ...siblings].map(({ name }) => record.find(name)?.file ?? '');
  return [...new Set([...last.filter((file) => tier.includes(file)), ...testsFor(bug.file, tier)])];
}
