import { PetStoreError } from '../../../sdk/src/index.ts';

/** An error as the page shows it. */
export interface Fault {
  title: string;
  /** The message of the service. */
  message: string;
  remedy: string;
  /** What the user can do about it on this page. */
  mend: 'key' | 'retry' | 'none';
  /** The service does not accept the key. */
  isKeyRefused: boolean;
  requestId: string | undefined;
}

type Words = Pick<Fault, 'title' | 'remedy' | 'mend'>;

const NOTHING_LOST = 'Nothing you typed is lost.';

const WORDS_OF_STATUS: Readonly<Record<number, Words>> = {
  400: {
    title: 'The service did not accept this',
    remedy: 'Change it and send it again.',
    mend: 'none',
  },
  401: { title: 'This key does not open the catalogue', remedy: 'Paste another one.', mend: 'key' },
  403: {
    title: 'This key may not do that',
    remedy: `Use a key with that scope. ${NOTHING_LOST}`,
    mend: 'key',
  },
  404: { title: 'Not found', remedy: 'Check the number and try again.', mend: 'none' },
  410: {
    title: 'This operation is gone',
    remedy: 'Filter the catalogue by status instead.',
    mend: 'none',
  },
  422: {
    title: 'This was sent before with other values',
    remedy: 'Send it again: it then counts as a new animal.',
    mend: 'none',
  },
};

const NO_CONNECTION: Words = {
  title: 'The service cannot be reached',
  remedy: `Check that the service runs and that this device is online, then try again. ${NOTHING_LOST}`,
  mend: 'retry',
};

const OUR_FAULT: Words = {
  title: 'The service has failed',
  remedy: `Try again; if it stays so, tell whoever runs the service the request id. ${NOTHING_LOST}`,
  mend: 'retry',
};

export function explain(error: unknown): Fault {
  if (!(error instanceof PetStoreError)) {
    const message = error instanceof Error ? error.message : String(error);
    return { ...OUR_FAULT, message, isKeyRefused: false, requestId: undefined };
  }
  const { message, status, requestId } = error;
  return { ...wordsFor(error), message, isKeyRefused: status === 401, requestId };
}

function wordsFor({ status, code, retryAfterMs }: PetStoreError): Words {
  if (code === 'connection_lost' || code === 'timed_out') return NO_CONNECTION;
  if (status === 429) {
    return {
      title: 'Too many requests with this key',
      remedy: `Wait ${seconds(retryAfterMs)}, then try again. ${NOTHING_LOST}`,
      mend: 'retry',
    };
  }
  if (status === 503) {
    return {
      title: 'The service is busy',
      remedy: `Wait ${seconds(retryAfterMs)}, then try again. ${NOTHING_LOST}`,
      mend: 'retry',
    };
  }
  return WORDS_OF_STATUS[status] ?? OUR_FAULT;
}

function seconds(waitMs: number | undefined): string {
  if (waitMs === undefined) return 'a moment';
  const count = Math.max(1, Math.ceil(waitMs / 1000));
  return count === 1 ? 'a second' : `${count} seconds`;
}

/** The fields of the form that an error message can name. */
export const FIELDS = ['name', 'categoryId', 'status'] as const;
export type Field = (typeof FIELDS)[number];

/**
 * Splits the error message of a create by field. Each sentence begins with the name of its field; a
 * sentence that does not is shown with the whole form.
 */
export function splitByField(message: string): Partial<Record<Field | 'form', string>> {
  const parts: Partial<Record<Field | 'form', string>> = {};
  for (const sentence of message.split(/(?<=\.)\s+(?=(?:name|categoryId|status)\s)/)) {
    const field = FIELDS.find((each) => sentence.startsWith(`${each} `)) ?? 'form';
    parts[field] = parts[field] === undefined ? sentence : `${parts[field]} ${sentence}`;
  }
  return parts;
}
