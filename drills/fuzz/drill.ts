import { brokenBy } from '../broken/broken.ts';
import type { Drill } from '../drill.ts';
import { drillFuzz, findMissing } from './fuzz.ts';

export const drill: Drill = {
  promise:
    'What the OpenAPI document allows, the service accepts, and each response has a status, headers and a body that it declares.',
  method:
    'Schemathesis 4.32.5 with all checks and phases, with the full key, a read-only key, no key, a rate limit and two workers, on each store. Only refusals that no schema can express may fail a check; each animal is compared with what was sent. What was created is found: the drills `linearizability` and `simulation`.',
  unit: 'examples per operation',
  rounds: 2_000,
  quickRounds: 20,
  // It installs Schemathesis from PyPI.
  isNamedOnly: true,
  findMissing,
  run: drillFuzz,
  control: {
    brokenBy: 'responses with 202 instead of 201',
    finds: ['Undocumented HTTP status code'],
    run: (options) =>
      drillFuzz({ ...options, isShort: true, nodeFlags: brokenBy('another-status') }),
  },
};
