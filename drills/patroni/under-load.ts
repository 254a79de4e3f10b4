import type { DrillReport } from '../drill.ts';
import { Load } from '../../harness/load.ts';
import { ServiceProcess } from '../../harness/service-process.ts';

const CLIENTS = 20;
const CREATE_EVERY = 2;
const REQUEST_MS_MAX = 5_000;

export interface UnderLoad {
  /** Where the service connects to. */
  database: string;
  nodeFlags?: readonly string[] | undefined;
  requestMsMax?: number;
  /** More flags of `petstore serve`. */
  flags?: readonly string[];
  /** What is done to the database. It returns figures. */
  disturb: (load: Load, service: ServiceProcess) => Promise<DrillReport['figures']>;
}

/**
 * 20 clients of one process create and read animals while the database is disturbed. Requests may be refused with
 * 503. Each must end within 5 s, and in the end every acknowledged animal is stored, once.
 */
export async function runUnderLoad(options: UnderLoad): Promise<DrillReport> {
  const { database, requestMsMax = REQUEST_MS_MAX, disturb } = options;
  const service = await ServiceProcess.start(options);
  const { key, baseUrl } = service;
  const load = new Load({
    key,
    baseUrl: () => baseUrl,
    createEvery: CREATE_EVERY,
    unclaimedEvery: 2,
    mayRefuse: true,
    requestMsMax,
  });
  load.start(CLIENTS);
  const figures = await disturb(load, service);
  await load.stop();
  // A process that remembers what the server has lost refuses it (D43). A new one shows what is stored.
  const reader = await ServiceProcess.start({ database, key });
  await load.compare(reader.baseUrl);
  const { violations, counts } = load;
  violations.push(...(await service.stop()), ...(await reader.stop()));
  return {
    passed: counts.requests - violations.length,
    violations,
    figures: {
      requests: counts.requests,
      'creates acknowledged': load.creates.acknowledged.size,
      'requests refused with 503': counts.refused,
      'slowest request (ms)': counts.slowestMs,
      ...figures,
    },
  };
}
