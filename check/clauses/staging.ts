import type { Clause, PairClause } from '../clause.ts';
import { differencesOf, verdictDifferencesOf } from '../interface.ts';
import { Broken } from '../verdict.ts';

export const STAGING_ADDRESS: Clause[] = [
  {
    kind: 'pair',
    id: 'staging.v1',
    section: 'Introduction',
    sentence: '{staging_base_url} also ends in /v1.',
    check: (_production, { base }) => {
      if (!new URL(base).pathname.endsWith('/v1')) {
        throw new Broken({ request: 'none', response: base }, 'an address that ends in /v1');
      }
    },
  },
  {
    kind: 'pair',
    id: 'staging.interface',
    section: 'Introduction',
    sentence: 'A staging environment with the same interface exists.',
    check: (production, staging) => expectNone(differencesOf(production, staging)),
  },
];

export const STAGING_AUTHENTICATION: PairClause = {
  kind: 'pair',
  id: 'Authentication.4',
  section: 'Authentication',
  sentence: 'The same scheme applies to production and staging.',
  check: (production, staging) =>
    expectNone(verdictDifferencesOf(production, staging, 'Authentication.')),
};

export const STAGING_PREFIX: PairClause = {
  kind: 'pair',
  id: 'staging.prefix',
  section: 'Versioning',
  sentence: 'Production and staging environments exist and share the same path prefix.',
  check: ({ base: one }, { base: other }) => {
    const prefix = lastSegment(one);
    if (prefix !== lastSegment(other)) {
      throw new Broken({ request: 'none', response: other }, `an address that ends in ${prefix}`);
    }
  },
};

function expectNone(differences: string[]): void {
  const [first, ...others] = differences;
  if (first === undefined) return;
  const response = others.length === 0 ? first : `${first}; and ${others.length} more, see below`;
  throw new Broken({ request: 'the same requests to both addresses', response }, 'no difference');
}

function lastSegment(base: string): string {
  const { pathname } = new URL(base);
  return pathname.slice(pathname.lastIndexOf('/'));
}
