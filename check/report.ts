import type { Section } from './clause.ts';
import { secretsOf } from './credentials.ts';
import type { Outcome, Result } from './run.ts';
import type { Subject } from './service-under-check.ts';
import type { Verdict } from './verdict.ts';

/** The outcome of a check for programs. Fields are never renamed or removed. */
export interface Report {
  specification: string;
  addresses: string[];
  write: boolean;
  clauses: ReportedClause[];
  /** How the second address differs from the first; empty when there is only one. */
  differences: string[];
  totals: { kept: number; broken: number; notCheckable: number };
}

export interface ReportedClause {
  id: string;
  section: Section;
  sentence: string;
  writes: boolean;
  results: ReportedResult[];
}

export interface ReportedResult {
  /** Null when the verdict is about all addresses. */
  address: string | null;
  verdict: Verdict['kind'];
  /** With `broken`: the request, the response, and what the specification states. */
  request?: string;
  answer?: string;
  expected?: string;
  /** With `not-checkable`. */
  why?: string;
}

const SPECIFICATION = 'Pet Store Service Specification, interface version 1.0.0';
const TEXT_LENGTH_MAX = 400;
const DIFFERENCES_MAX = 100;

export function newReport(subjects: readonly Subject[], outcome: Outcome): Report {
  const clean = cleaner(secretsOf(subjects.map(({ key }) => key)));
  const clauses = outcome.findings.map(({ clause, results }) => ({
    id: clause.id,
    section: clause.section,
    sentence: clause.sentence,
    writes: clause.kind === 'service' && clause.writes,
    results: results.map((result) => reportedResult(result, clean)),
  }));
  const verdicts = clauses.flatMap(({ results }) => results.map(({ verdict }) => verdict));
  const count = (kind: Verdict['kind']) => verdicts.filter((verdict) => verdict === kind).length;
  return {
    specification: SPECIFICATION,
    addresses: subjects.map(({ base }) => base),
    write: subjects.some(({ mayWrite }) => mayWrite),
    clauses,
    differences: outcome.differences.slice(0, DIFFERENCES_MAX).map(clean),
    totals: {
      kept: count('kept'),
      broken: count('broken'),
      notCheckable: count('not-checkable'),
    },
  };
}

export function summaryOf({ totals }: Report): string {
  return `${totals.kept} kept, ${totals.broken} broken, ${totals.notCheckable} not checkable`;
}

function reportedResult(
  { base, verdict }: Result,
  clean: (text: string) => string,
): ReportedResult {
  const result = { address: base ?? null, verdict: verdict.kind };
  if (verdict.kind === 'kept') return result;
  if (verdict.kind === 'not-checkable') return { ...result, why: clean(verdict.why) };
  return {
    ...result,
    request: clean(verdict.request),
    answer: clean(verdict.response),
    expected: clean(verdict.expected),
  };
}

/**
 * Makes text of a service safe to print: it hides keys, escapes control characters and limits the length.
 */
function cleaner(secrets: readonly string[]): (text: string) => string {
  return (text) => {
    const hidden = secrets.reduce((rest, secret) => rest.replaceAll(secret, '(the key)'), text);
    const plain = hidden
      .replaceAll(/[\r\n\t]+ */g, ' ')
      .replaceAll(
        /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
        (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
      );
    return plain.length > TEXT_LENGTH_MAX ? `${plain.slice(0, TEXT_LENGTH_MAX)} …` : plain;
  };
}
