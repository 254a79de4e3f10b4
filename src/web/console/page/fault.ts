import { PetStoreError } from '../../../../sdk/src/index.ts';

/** An error as the page shows it. */
export interface Fault {
  title: string;
  remedy: string;
  /** Whether the same request may succeed later. */
  canRetry: boolean;
  /** The message of the service, or of the client library without a response. */
  message: string;
  /** The HTTP status, or 0 without a response. */
  status: number;
  requestId: string | undefined;
  /** The service does not accept the key. */
  isKeyRefused: boolean;
  /** No animal has the id, or not any more. */
  isGone: boolean;
  /** Somebody else has changed the animal since the person saw it. */
  isConflict: boolean;
}

type Words = [title: string, remedy: string];

const NOTHING_LOST = 'Nothing you typed is lost.';
/** A full disk, on which no waiting helps, is among them. */
const IF_IT_STAYS = 'If it stays so, tell whoever runs the service: its monitor says why.';

/** What another attempt does not change. */
const WORDS_OF_STATUS: Readonly<Record<number, Words>> = {
  400: ['The service did not accept this', 'Change it and send it again.'],
  401: ['This key does not open the catalogue', 'Paste another one.'],
  403: ['This key may not do that', 'Use another key.'],
  404: ['No animal has this id', 'Check the number and try again.'],
  409: [
    'Somebody else has changed this animal meanwhile',
    'Nothing was stored. Load the list again, and look at it.',
  ],
  410: ['This operation is gone', 'Filter the catalogue by status instead.'],
  422: ['This was sent before with other values', 'Send it again: it then counts as a new animal.'],
};

const TITLES: Partial<Record<string, string>> = {
  rate_limited: 'Too many requests with this key',
  overloaded: 'The service is busy',
};

const BAD_LINK: Words = ['This link leads to no page', 'Press “First page” to start again.'];

const NO_CONNECTION: Words = [
  'The service cannot be reached',
  `Check that the service runs and that this device is online, then try again. ${NOTHING_LOST}`,
];

const OUR_FAULT: Words = [
  'The service has failed',
  `Try again. If it fails again, tell whoever runs the service the request id. ${NOTHING_LOST}`,
];

export function explain(error: unknown): Fault {
  const found =
    error instanceof PetStoreError
      ? error
      : new PetStoreError(
          'unreadable_response',
          error instanceof Error ? error.message : String(error),
        );
  const { code, message, status, requestId } = found;
  const fixed = code === 'invalid_cursor' ? BAD_LINK : WORDS_OF_STATUS[status];
  const [title, remedy] = fixed ?? passingWords(found);
  return {
    title,
    remedy,
    canRetry: fixed === undefined,
    message,
    status,
    requestId,
    isKeyRefused: status === 401,
    isGone: code === 'pet_not_found',
    isConflict: code === 'pet_changed',
  };
}

function passingWords({ status, code, message, retryAfterMs }: PetStoreError): Words {
  if (code === 'connection_lost' || code === 'timed_out') return NO_CONNECTION;
  if (status !== 429 && status !== 503) return OUR_FAULT;
  const next =
    code === 'unavailable' ? IF_IT_STAYS : `Wait ${seconds(retryAfterMs)}, then try again.`;
  return [TITLES[code] ?? message.replace(/\.$/, ''), `${next} ${NOTHING_LOST}`];
}

function seconds(waitMs: number | undefined): string {
  if (waitMs === undefined) return 'a moment';
  const count = Math.max(1, Math.ceil(waitMs / 1000));
  return count === 1 ? 'a second' : `${count} seconds`;
}
