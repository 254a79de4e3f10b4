import type { UncheckableClause } from '../clause.ts';

const kind = 'uncheckable';
const why = 'it is about two addresses: run the check at each, with a key of each';

export const STAGING_ADDRESS: UncheckableClause[] = [
  {
    kind,
    id: 'staging.v1',
    section: 'Introduction',
    sentence: '{staging_base_url} also ends in /v1.',
    why,
  },
  {
    kind,
    id: 'staging.interface',
    section: 'Introduction',
    sentence: 'A staging environment with the same interface exists.',
    why,
  },
];

export const STAGING_AUTHENTICATION: UncheckableClause = {
  kind,
  id: 'Authentication.4',
  section: 'Authentication',
  sentence: 'The same scheme applies to production and staging.',
  why,
};

export const STAGING_PREFIX: UncheckableClause = {
  kind,
  id: 'staging.prefix',
  section: 'Versioning',
  sentence: 'Production and staging environments exist and share the same path prefix.',
  why,
};
