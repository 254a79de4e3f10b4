import type { Clause, ServiceClause } from './clause.ts';
import { CLAUSES } from './clauses/all.ts';
import { ServiceUnderCheck, type Subject } from './service-under-check.ts';
import { NotCheckable, verdictOf, type Verdict } from './verdict.ts';

/** The verdict on one clause. */
export interface Finding {
  clause: Clause;
  verdict: Verdict;
}

/** Thrown if the address gives no response to the first request. */
export class Unreachable extends Error {}

export async function checkService(subject: Subject): Promise<Finding[]> {
  const service = new ServiceUnderCheck(subject);
  await requireReachable(service);
  const verdicts = new Map<string, Verdict>();
  for (const clause of serviceClausesInRunOrder()) {
    verdicts.set(clause.id, await verdictOf(() => judge(clause, service)));
  }
  return CLAUSES.map((clause) => ({
    clause,
    verdict: verdicts.get(clause.id) ?? { kind: 'not-checkable', why: whyUncheckable(clause) },
  }));
}

async function requireReachable(service: ServiceUnderCheck): Promise<void> {
  const verdict = await verdictOf(async () => {
    await service.probe();
  });
  if (verdict.kind === 'broken') {
    throw new Unreachable(
      `${service.subject.base} cannot be reached (${verdict.response}): start the service, or give its address.`,
    );
  }
}

function judge(clause: ServiceClause, service: ServiceUnderCheck): Promise<void> | void {
  if (clause.writes && !service.subject.mayWrite) throw new NotCheckable('it needs --write');
  return clause.check(service);
}

function whyUncheckable(clause: Clause): string {
  return clause.kind === 'uncheckable' ? clause.why : 'it was not tried';
}

/** Clauses that add animals run first, so that the others have animals to judge. */
function serviceClausesInRunOrder(): ServiceClause[] {
  const clauses = CLAUSES.filter((clause) => clause.kind === 'service');
  const early = clauses.filter(({ afterwards }) => afterwards !== true);
  return [
    ...early.filter(({ writes }) => writes),
    ...early.filter(({ writes }) => !writes),
    ...clauses.filter(({ afterwards }) => afterwards === true),
  ];
}
