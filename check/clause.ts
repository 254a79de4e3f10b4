import type { ServiceUnderCheck } from './service-under-check.ts';

/** The sections of the specification that state a promise, in its order. */
const SECTIONS = [
  'Introduction',
  'What the service does',
  'Resources and their fields',
  'States and transitions',
  'Endpoints',
  'Authentication',
  'Errors',
  'Limits',
  'Versioning',
] as const;
export type Section = (typeof SECTIONS)[number];

interface Sentence {
  /** Never changes once published: programs compare runs by it. */
  id: string;
  section: Section;
  /** The sentence of the specification, or what it means for one request. */
  sentence: string;
}

/** A sentence that requests can decide. */
export interface ServiceClause extends Sentence {
  kind: 'service';
  /** Whether the clause sends POST; such clauses run only with --write. */
  writes: boolean;
  /** The clause runs after all others, because it judges their exchanges. */
  afterwards?: true;
  /** Returns if the service keeps the sentence, otherwise throws Broken or NotCheckable. */
  check: (service: ServiceUnderCheck) => Promise<void> | void;
}

/** A sentence that no request to one address can decide. */
export interface UncheckableClause extends Sentence {
  kind: 'uncheckable';
  why: string;
}

export type Clause = ServiceClause | UncheckableClause;
