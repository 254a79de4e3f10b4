import type { Drill } from '../drill.ts';
import { ALTERATIONS, openAlteringProxy } from '../openapi/altered-responses.ts';
import { drillFuzz, findMissing } from './fuzz.ts';

const alter = ALTERATIONS['a status is not declared'] ?? (() => undefined);

export const drill: Drill = {
  purpose:
    'Schemathesis with all its checks and phases, with each kind of key, a rate limit and workers: it finds only refusals that no schema can express, every animal is what was sent, and the log has no errors.',
  unit: 'examples per operation',
  rounds: 2_000,
  quickRounds: 20,
  // It installs Schemathesis from PyPI.
  isNamedOnly: true,
  findMissing,
  run: drillFuzz,
  control: {
    brokenBy: 'a proxy that responds with 202 instead of 201',
    run: (options) =>
      drillFuzz({
        ...options,
        isShort: true,
        alter: (baseUrl) => openAlteringProxy(baseUrl, alter),
      }),
  },
};
