import type { Clause, Observation, PairClause } from '../clause.ts';
import { differencesOf } from '../interface.ts';
import { Broken } from '../verdict.ts';

const DIFFERENCES_SHOWN_MAX = 20;

export const STAGING_ADDRESS: Clause[] = [
  {
    kind: 'pair',
    id: 'staging.v1',
    section: 'Introduction',
    sentence: '{staging_base_url} also ends in /v1.',
    check: (_production, { base }) => {
      if (!new URL(base).pathname.endsWith('/v1')) {
        throw new Broken({ request: 'none', answer: base }, 'an address that ends in /v1');
      }
    },
  },
  {
    kind: 'pair',
    id: 'staging.interface',
    section: 'Introduction',
    sentence: 'A staging environment with the same interface exists.',
    check: (production, staging) =>
      expectNone([
        ...verdictsThatDiffer(production, staging, ''),
        ...differencesOf(production.exchanges, staging.exchanges),
      ]),
  },
];

export const STAGING_AUTHENTICATION: PairClause = {
  kind: 'pair',
  id: 'Authentication.4',
  section: 'Authentication',
  sentence: 'The same scheme applies to production and staging.',
  check: (production, staging) =>
    expectNone(verdictsThatDiffer(production, staging, 'Authentication.')),
};

export const STAGING_PREFIX: PairClause = {
  kind: 'pair',
  id: 'staging.prefix',
  section: 'Versioning',
  sentence: 'Production and staging environments exist and share the same path prefix.',
  check: ({ base: one }, { base: other }) => {
    const prefix = lastSegment(one);
    if (prefix !== lastSegment(other)) {
      throw new Broken({ request: 'none', answer: other }, `an address that ends in ${prefix}`);
    }
  },
};

/** What is kept here and broken there; where a clause could not be told, nothing follows. */
function verdictsThatDiffer(one: Observation, other: Observation, idPrefix: string): string[] {
  return [...one.verdicts].flatMap(([id, { kind }]) => {
    const match = other.verdicts.get(id)?.kind;
    if (!id.startsWith(idPrefix) || match === undefined || match === kind) return [];
    if (kind === 'not-checkable' || match === 'not-checkable') return [];
    return [`${id} is ${kind} at the first address and ${match} at the second`];
  });
}

function expectNone(differences: string[]): void {
  if (differences.length === 0) return;
  const shown = differences.slice(0, DIFFERENCES_SHOWN_MAX);
  const rest = differences.length - shown.length;
  const answer = shown.join('; ') + (rest > 0 ? `; and ${rest} more` : '');
  throw new Broken({ request: 'the same requests to both addresses', answer }, 'no difference');
}

function lastSegment(base: string): string {
  const { pathname } = new URL(base);
  return pathname.slice(pathname.lastIndexOf('/'));
}
