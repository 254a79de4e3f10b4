import { errorResponse } from './error-response.ts';
import type { HttpResponse } from './message.ts';

/** Since when an operation is deprecated, when it is removed, and what to use instead. */
export interface Deprecation {
  since: Date;
  removedAt: Date;
  /** Relative to the base address. */
  successorPath: string;
}

/** The specification gives the date of removal. The deprecation began with interface version 1.0.0. */
export const GET_PET_DEPRECATION: Deprecation = {
  since: new Date('2026-11-14T00:00:00Z'),
  removedAt: new Date('2030-12-05T00:00:00Z'),
  successorPath: '/pets',
};

export const DEPRECATIONS_PAGE = '/docs/deprecations';

/** For every response of a deprecated operation: RFC 9745, RFC 8594 and two links. */
export function deprecationHeaders(
  deprecation: Deprecation | undefined,
  baseUrl: string,
): readonly string[] {
  if (deprecation === undefined) return [];
  const site = baseUrl.replace(/\/v1$/, '');
  return [
    'Deprecation',
    `@${deprecation.since.getTime() / 1000}`,
    'Sunset',
    deprecation.removedAt.toUTCString(),
    'Link',
    `<${baseUrl}${deprecation.successorPath}>; rel="successor-version", <${site}${DEPRECATIONS_PAGE}>; rel="deprecation"; type="text/html"`,
  ];
}

export function isRemoved({ removedAt }: Deprecation, now: Date): boolean {
  return now.getTime() >= removedAt.getTime();
}

export function operationRemoved(deprecation: Deprecation): HttpResponse {
  const day = deprecation.removedAt.toISOString().slice(0, 10);
  return errorResponse(
    'operation_removed',
    `This operation was removed on ${day}; use GET ${deprecation.successorPath} with the status filter.`,
  );
}
