import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { ALTERATIONS, openAlteringProxy } from './altered-responses.ts';
import { drillOpenApi } from './openapi.ts';

export const drill: Drill = {
  purpose:
    'Sequences of requests, made from the OpenAPI document, valid and invalid: every response has the declared status, headers and schema, and what was created is found.',
  unit: 'cases',
  rounds: 100_000,
  quickRounds: 1_000,
  run: drillOpenApi,
  control: { brokenBy: 'a proxy that alters responses', run: runControl },
};

/** Each alteration must be found: it reports nothing if one is not. */
async function runControl(options: DrillOptions): Promise<DrillReport> {
  const violations: string[] = [];
  for (const [name, alter] of Object.entries(ALTERATIONS)) {
    const open = (baseUrl: string) => openAlteringProxy(baseUrl, alter);
    const report = await drillOpenApi({ ...options, isShort: true, alter: open });
    violations.push(...report.violations.map((violation) => `${name}: ${violation}`));
  }
  const alterations = Object.keys(ALTERATIONS).length;
  const isEachFound = violations.length === alterations;
  return { passed: 0, violations: isEachFound ? violations : [], figures: { alterations } };
}
