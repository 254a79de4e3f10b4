import type { Section } from './clause.ts';
import { secretsOf } from './credentials.ts';
import type { Finding } from './run.ts';
import type { Subject } from './service-under-check.ts';
import type { Verdict } from './verdict.ts';

/** The outcome of a check as programs read it; fields are only ever added. */
export interface Report {
  specification: string;
  addresses: string[];
  write: boolean;
  clauses: ReportedClause[];
  totals: { kept: number; broken: number; notCheckable: number };
}

export interface ReportedClause {
  id: string;
  section: Section;
  sentence: string;
  writes: boolean;
  results: ReportedResult[];
}

export type ReportedResult = Verdict & {
  /** Null where the verdict is about all addresses. */
  address: string | null;
};

const SPECIFICATION = 'Pet Store Service Specification, interface version 1.0.0';
const TEXT_LENGTH_MAX = 600;

export function newReport(subjects: readonly Subject[], findings: readonly Finding[]): Report {
  const clean = cleaner(subjects.flatMap(({ key }) => secretsOf(key)));
  const clauses = findings.map(({ clause: { id, section, sentence, ...clause }, results }) => ({
    id,
    section,
    sentence,
    writes: clause.kind === 'service' && clause.writes,
    results: results.map(({ base, verdict }) => ({
      address: base ?? null,
      ...cleanVerdict(verdict, clean),
    })),
  }));
  const kinds = clauses.flatMap(({ results }) => results.map(({ kind }) => kind));
  const count = (kind: Verdict['kind']) => kinds.filter((each) => each === kind).length;
  return {
    specification: SPECIFICATION,
    addresses: subjects.map(({ base }) => base),
    write: subjects.some(({ mayWrite }) => mayWrite),
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

function cleanVerdict(verdict: Verdict, clean: (text: string) => string): Verdict {
  if (verdict.kind !== 'broken') return verdict;
  const { kind, request, answer, expected } = verdict;
  return { kind, request: clean(request), answer: clean(answer), expected: clean(expected) };
}

/**
 * Makes text that a service sent fit to be shown: no key should it repeat one, no control character
 * that would steer a terminal, and not without end.
 */
function cleaner(secrets: readonly string[]): (text: string) => string {
  return (text) => {
    const covered = secrets.reduce((rest, secret) => rest.replaceAll(secret, '(the key)'), text);
    const plain = covered
      .replaceAll(/[\r\n\t]+ */g, ' ')
      .replaceAll(
        /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
        (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
      );
    return plain.length > TEXT_LENGTH_MAX ? `${plain.slice(0, TEXT_LENGTH_MAX)} …` : plain;
  };
}
