import type { Clause, Observation, ServiceClause } from './clause.ts';
import { CLAUSES } from './clauses/all.ts';
import { differencesOf } from './interface.ts';
import { ServiceUnderCheck, type Subject } from './service-under-check.ts';
import { NotCheckable, verdictOf, type Verdict } from './verdict.ts';

/** The verdicts on one clause: one per address, or one about both addresses. */
export interface Finding {
  clause: Clause;
  results: Result[];
}

export interface Outcome {
  findings: Finding[];
  /** The differences between the two addresses, one sentence each. */
  differences: string[];
}

export interface Result {
  /** The address that was judged; undefined if the verdict is about both. */
  base: string | undefined;
  verdict: Verdict;
}

/** Thrown if an address gives no response to the first request. */
export class Unreachable extends Error {}

/** Checks one address, or checks two and compares them. */
export async function checkAddresses(subjects: readonly Subject[]): Promise<Outcome> {
  const services = subjects.map((subject) => new ServiceUnderCheck(subject));
  for (const service of services) await requireReachable(service);
  const observations: Observation[] = [];
  for (const service of services) observations.push(await observe(service));

  const findings: Finding[] = [];
  for (const clause of CLAUSES) {
    findings.push({ clause, results: await resultsOf(clause, observations) });
  }
  const [production, staging] = observations;
  const isPair = production !== undefined && staging !== undefined;
  return { findings, differences: isPair ? differencesOf(production, staging) : [] };
}

async function requireReachable(service: ServiceUnderCheck): Promise<void> {
  const verdict = await verdictOf(async () => {
    await service.probe();
  });
  if (verdict.kind === 'broken') {
    throw new Unreachable(`${service.subject.base} cannot be reached (${verdict.response})`);
  }
}

async function observe(service: ServiceUnderCheck): Promise<Observation> {
  const verdicts = new Map<string, Verdict>();
  for (const clause of serviceClausesInRunOrder()) {
    const verdict = await verdictOf(() => {
      if (clause.writes && !service.subject.mayWrite) throw new NotCheckable('it needs --write');
      return clause.check(service);
    });
    verdicts.set(clause.id, verdict);
  }
  return { base: service.subject.base, exchanges: service.client.exchanges, verdicts };
}

/** Clauses that add animals run first, so that the others have animals to judge. */
export function serviceClausesInRunOrder(): ServiceClause[] {
  const clauses = CLAUSES.filter((clause) => clause.kind === 'service');
  const early = clauses.filter(({ afterwards }) => afterwards !== true);
  return [
    ...early.filter(({ writes }) => writes),
    ...early.filter(({ writes }) => !writes),
    ...clauses.filter(({ afterwards }) => afterwards === true),
  ];
}

async function resultsOf(clause: Clause, observations: Observation[]): Promise<Result[]> {
  if (clause.kind === 'service') {
    return observations.flatMap(({ base, verdicts }) => {
      const verdict = verdicts.get(clause.id);
      return verdict === undefined ? [] : [{ base, verdict }];
    });
  }
  const verdict = await verdictOf(() => {
    if (clause.kind === 'uncheckable') throw new NotCheckable(clause.why);
    const [production, staging] = observations;
    if (production === undefined || staging === undefined) {
      throw new NotCheckable('it needs a second address');
    }
    clause.check(production, staging);
  });
  return [{ base: undefined, verdict }];
}
