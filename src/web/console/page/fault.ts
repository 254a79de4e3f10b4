import { PetStoreError } from '../../../../sdk/src/index.ts';

/** An error as the page shows it. */
export interface Fault {
  title: string;
  remedy: string;
  /** What the user can do about it on this page. */
  action: 'key' | 'retry' | 'none';
  /** The message of the service, or of the client library without a response. */
  message: string;
  /** The HTTP status, or 0 without a response. */
  status: number;
  requestId: string | undefined;
  /** After this time the request may succeed; undefined if that is not known or too far off to wait for. */
  waitMs: number | undefined;
  /** The service does not accept the key. */
  isKeyRefused: boolean;
  /** The key lacks the scope of the operation. */
  isForbidden: boolean;
  /** No animal has the id, or not any more. */
  isGone: boolean;
  /** Somebody else has changed the animal since the person saw it. */
  isConflict: boolean;
}

type Words = Pick<Fault, 'title' | 'remedy' | 'action'>;

const NOTHING_LOST = 'Nothing you typed is lost.';
/** A full disk, on which no waiting helps, is among them. */
const IF_IT_STAYS = 'If it stays so, tell whoever runs the service: its monitor says why.';
const WAIT_MS_DEFAULT = 5_000;
const WAIT_MS_MAX = 120_000;

const WORDS_OF_STATUS: Readonly<Record<number, Words>> = {
  400: {
    title: 'The service did not accept this',
    remedy: 'Change it and send it again.',
    action: 'none',
  },
  401: {
    title: 'This key does not open the catalogue',
    remedy: 'Paste another one.',
    action: 'key',
  },
  403: { title: 'This key may not do that', remedy: 'Use another key.', action: 'key' },
  404: {
    title: 'No animal has this id',
    remedy: 'Check the number and try again.',
    action: 'none',
  },
  409: {
    title: 'Somebody else has changed this animal meanwhile',
    remedy: 'Nothing was stored. Load the list again, and look at it.',
    action: 'none',
  },
  410: {
    title: 'This operation is gone',
    remedy: 'Filter the catalogue by status instead.',
    action: 'none',
  },
  422: {
    title: 'This was sent before with other values',
    remedy: 'Send it again: it then counts as a new animal.',
    action: 'none',
  },
};

const TITLES: Partial<Record<string, string>> = {
  rate_limited: 'Too many requests with this key',
  overloaded: 'The service is busy',
};

const BAD_LINK: Words = {
  title: 'This link leads to no page',
  remedy: 'Press “First page” to start again.',
  action: 'none',
};

const NO_CONNECTION: Words = {
  title: 'The service cannot be reached',
  remedy: `Check that the service runs and that this device is online, then try again. ${NOTHING_LOST}`,
  action: 'retry',
};

const OUR_FAULT: Words = {
  title: 'The service has failed',
  remedy: `Try again. If it fails again, tell whoever runs the service the request id. ${NOTHING_LOST}`,
  action: 'retry',
};

export function explain(error: unknown): Fault {
  if (!(error instanceof PetStoreError)) {
    const message = error instanceof Error ? error.message : String(error);
    return newFault(OUR_FAULT, {
      code: 'connection_lost',
      message,
      status: 0,
      requestId: undefined,
      retryAfterMs: 0,
    });
  }
  return newFault(wordsFor(error), error);
}

function newFault(
  words: Words,
  error: Pick<PetStoreError, 'code' | 'message' | 'status' | 'requestId' | 'retryAfterMs'>,
): Fault {
  const { code, message, status, requestId, retryAfterMs = WAIT_MS_DEFAULT } = error;
  const isPassing = status === 429 || status === 503;
  return {
    ...words,
    message,
    status,
    requestId,
    waitMs: isPassing && retryAfterMs <= WAIT_MS_MAX ? retryAfterMs : undefined,
    isKeyRefused: status === 401,
    isForbidden: status === 403,
    isGone: code === 'pet_not_found',
    isConflict: code === 'pet_changed',
  };
}

function wordsFor({ status, code, message, retryAfterMs }: PetStoreError): Words {
  if (code === 'connection_lost' || code === 'timed_out') return NO_CONNECTION;
  if (code === 'invalid_cursor') return BAD_LINK;
  if (status === 429 || status === 503) {
    return {
      title: TITLES[code] ?? message.replace(/\.$/, ''),
      remedy: `${code === 'unavailable' ? IF_IT_STAYS : `Wait ${seconds(retryAfterMs)}, then try again.`} ${NOTHING_LOST}`,
      action: 'retry',
    };
  }
  return WORDS_OF_STATUS[status] ?? OUR_FAULT;
}

function seconds(waitMs: number | undefined): string {
  if (waitMs === undefined) return 'a moment';
  const count = Math.max(1, Math.ceil(waitMs / 1000));
  return count === 1 ? 'a second' : `${count} seconds`;
}
