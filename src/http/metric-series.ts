import { ERROR_STATUS, type ErrorCode } from '../domain/errors.ts';
import { operations } from './operations.ts';

/** What a request of any operation can be refused with, beside the errors of its own. */
const ERRORS_OF_ALL: readonly ErrorCode[] = [
  'missing_api_key',
  'insufficient_scope',
  'rate_limited',
  'request_timeout',
  'internal_error',
  'unavailable',
];
/** What a request that belongs to no operation can be answered with: pages, health, OPTIONS and refusals. */
const STATUSES_OF_OTHER = [200, 204, 304, 401, 404, 405, 500, 503];

/**
 * Every operation with every status it can have. A counter that begins when its first event happens begins
 * at 1, and `increase()` of Prometheus misses that event.
 */
export const METRIC_SERIES: readonly (readonly [operation: string, status: number])[] = [
  ...operations.flatMap(({ id, answers, errors }) => {
    const refused = [...errors, ...ERRORS_OF_ALL].map((code) => ERROR_STATUS[code]);
    const statuses = new Set([...Object.keys(answers).map(Number), ...refused]);
    return [...statuses].map((status) => [id, status] as const);
  }),
  ...STATUSES_OF_OTHER.map((status) => ['other', status] as const),
];
