import type { Section } from './clause.ts';
import { secretsOf } from './credentials.ts';
import type { Finding } from './run.ts';
import type { Subject } from './service-under-check.ts';
import type { Verdict } from './verdict.ts';

/** The findings of a check for programs. */
export interface Report {
  specification: string;
  address: string;
  write: boolean;
  clauses: ReportedClause[];
  totals: { kept: number; broken: number; notCheckable: number };
}

export interface ReportedClause {
  id: string;
  section: Section;
  sentence: string;
  writes: boolean;
  verdict: Verdict['kind'];
  /** With `broken`: the request, the response, and what the specification states. */
  request?: string;
  response?: string;
  expected?: string;
  /** With `not-checkable`. */
  why?: string;
}

const SPECIFICATION = 'Pet Store Service Specification, interface version 1.0.0';
const TEXT_LENGTH_MAX = 400;

export function newReport(subject: Subject, findings: readonly Finding[]): Report {
  const clean = cleaner(secretsOf(subject.key));
  const clauses = findings.map(({ clause, verdict }) => ({
    id: clause.id,
    section: clause.section,
    sentence: clause.sentence,
    writes: clause.kind === 'service' && clause.writes,
    ...reportedVerdict(verdict, clean),
  }));
  const count = (kind: Verdict['kind']) => clauses.filter(({ verdict }) => verdict === kind).length;
  return {
    specification: SPECIFICATION,
    address: subject.base,
    write: subject.mayWrite,
    clauses,
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

function reportedVerdict(verdict: Verdict, clean: (text: string) => string) {
  if (verdict.kind === 'kept') return { verdict: verdict.kind };
  if (verdict.kind === 'not-checkable') return { verdict: verdict.kind, why: clean(verdict.why) };
  return {
    verdict: verdict.kind,
    request: clean(verdict.request),
    response: clean(verdict.response),
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
