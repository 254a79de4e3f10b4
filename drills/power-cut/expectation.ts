import { splitResponses } from '../../harness/raw-socket.ts';
import { READY } from '../../harness/service-process.ts';
import type { RecordedEvent } from './recording.ts';
import type { SentChange, Workload } from './workload.ts';

/** An animal that was acknowledged. */
export interface Acknowledged {
  /** The event with which the response was sent. A cut after it must not lose the animal. */
  event: number;
  id: bigint;
  name: string;
}

/** A command with the events between which it changed the store. */
export interface RecordedChange extends SentChange {
  first: number;
  acknowledged: number;
}

/** What was acknowledged, and when. */
export interface Acknowledgements {
  /** The event with which the first start said that the service is ready: from then on it has a key. */
  ready: number;
  creates: Acknowledged[];
  changes: RecordedChange[];
}

/** Reads from the events themselves what was sent to whom and when. */
export function findAcknowledgements(
  events: readonly RecordedEvent[],
  workload: Workload,
): Acknowledgements {
  const creates: Acknowledged[] = [];
  let ready = Number.POSITIVE_INFINITY;
  /** What each connection has received since its last complete response. */
  const unread = new Map<string, string>();
  for (const [event, { kind, pid, fd, data }] of events.entries()) {
    if (kind !== 'output') continue;
    const text = data.toString('latin1');
    if (READY.test(text)) ready = Math.min(ready, event);
    const connection = `${pid} ${fd}`;
    const { responses, rest } = splitResponses((unread.get(connection) ?? '') + text);
    unread.set(connection, rest.startsWith('HTTP/') ? rest : '');
    for (const { status, body } of responses) {
      if (status !== 201) continue;
      // Every name is ASCII, and every id is far below 2^53.
      const { id, name } = JSON.parse(body) as { id: number; name: string };
      creates.push({ event, id: BigInt(id), name });
    }
  }
  const changes = workload.changes.map((change) => {
    const first = events.findIndex(({ pid }) => pid === change.pid);
    const isOutput = ({ kind, pid, fd }: RecordedEvent) =>
      kind === 'output' && pid === change.pid && fd <= 2;
    return { ...change, first, acknowledged: events.findIndex(isOutput) };
  });
  return { ready, creates, changes };
}
