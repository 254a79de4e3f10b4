import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { newSecret } from '../../src/domain/api-key.ts';
import {
  isInstalled,
  Proxy,
  PROXY_PROGRAMS,
  type ProxyProgram,
} from '../../test/support/proxies.ts';
import { Relay } from '../../test/support/relay.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { ServiceProcess } from '../service-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { Http2Client, newHttp1Client, type ProxyClient } from './proxy-client.ts';

/** The silence of the first round. The service closes an idle connection after 65 to 70 seconds. */
const SILENCE_SECONDS_MIN = 65;
const IDLE_MS_MAX = 120_000;
/** A proxy that keeps idle connections for longer than the service does. */
const TOO_LONG = '120s';
const CLIENTS = { 'HTTP/1.1': newHttp1Client, 'HTTP/2': (proxy: Proxy) => new Http2Client(proxy) };

export const drill: Drill = {
  purpose:
    'nginx, Caddy and HAProxy close an idle connection before the service does, and no create fails after a silence about as long as that.',
  unit: 'silences, from 65 s on',
  rounds: 6,
  quickRounds: 1,
  isNamedOnly: true,
  findMissing: () =>
    PROXY_PROGRAMS.some(isInstalled) ? undefined : 'none of nginx, Caddy and HAProxy is installed',
  run: (options) => run(options, (kind) => kind.idleSetting),
  control: {
    brokenBy: 'proxies that keep idle connections for 120 s',
    run: (options) => run(options, (kind) => kind.idleSetting.replace(/\d+s/, TOO_LONG)),
  },
};

interface Case {
  kind: ProxyProgram;
  idleSetting: string;
  port: number;
  key: string;
}

async function run(
  { rounds, onProgress }: DrillOptions,
  idleSettingOf: (kind: ProxyProgram) => string,
): Promise<DrillReport> {
  onProgress(`waits for ${SILENCE_SECONDS_MIN + rounds} s`);
  await using folder = await temporaryFolder();
  const key = newSecret('production', randomBytes);
  const service = await ServiceProcess.start(['--data', folder.path], key);
  const port = Number(new URL(service.baseUrl).port);
  const kinds = PROXY_PROGRAMS.filter((kind) => isInstalled(kind));
  const cases = kinds.map((kind) => ({ kind, idleSetting: idleSettingOf(kind), port, key }));
  const silences = Array.from({ length: rounds }, (_, index) => SILENCE_SECONDS_MIN + index);
  const reports = await Promise.all(cases.map((each) => runCase(each, silences)));
  const stopped = await service.stop();
  return {
    passed: reports.reduce((sum, { passed }) => sum + passed, 0),
    violations: [...reports.flatMap(({ violations }) => violations), ...stopped],
    figures: Object.assign({}, ...reports.map(({ figures }) => figures)) as Record<string, string>,
  };
}

async function runCase(each: Case, silences: readonly number[]): Promise<DrillReport> {
  const { name } = each.kind;
  const violations: string[] = [];
  const figures: Record<string, string> = {};
  let passed = 0;
  const checkIdle = async (version: string, newClient: NewClient) => {
    const { endedBy, seconds } = await idleConnection(each, newClient);
    figures[`${name}, ${version}, idle connection closed by`] = `${endedBy} after ${seconds} s`;
    if (endedBy === 'proxy') passed += 1;
    else violations.push(`${name}, ${version}: an idle connection was closed by ${endedBy}`);
  };
  const checkSilence = async (version: string, newClient: NewClient, silence: number) => {
    const failure = await afterSilence(each, newClient, silence);
    if (failure === undefined) passed += 1;
    else violations.push(`${name}, ${version}, after ${silence} s of silence: ${failure}`);
  };
  const checks = Object.entries(CLIENTS).flatMap(([version, newClient]) => [
    checkIdle(version, newClient),
    ...silences.map((silence) => checkSilence(version, newClient, silence)),
  ]);
  await Promise.all(checks);
  return { passed, violations, figures };
}

type NewClient = (proxy: Proxy) => ProxyClient;

/** Sends one create through a proxy that has sent no other request to the service for this long. */
async function afterSilence(
  { kind, idleSetting, port, key }: Case,
  newClient: NewClient,
  seconds: number,
): Promise<string | undefined> {
  const proxy = await Proxy.configure(kind, [port], { idleSetting });
  await proxy.start();
  // Each time on a new connection to the proxy: only the connection behind it is the subject.
  const create = async () => {
    const client = newClient(proxy);
    const headers = { authorization: `Bearer ${key}` };
    try {
      const status = await client.send('POST', headers, '{"name":"Rex","categoryId":7}');
      return status === 201 ? undefined : `a create returned ${status}`;
    } catch (error) {
      return `a create failed: ${String(error)}`;
    } finally {
      client.close();
    }
  };
  let failure = await create();
  await sleep(seconds * 1_000);
  failure ??= await create();
  await proxy.close();
  return failure;
}

async function idleConnection(
  { kind, idleSetting, port, key }: Case,
  newClient: NewClient,
): Promise<{ endedBy: string; seconds: string }> {
  const relay = await Relay.open(port);
  const proxy = await Proxy.configure(kind, [relay.port], { idleSetting });
  await proxy.start();
  const client = newClient(proxy);
  // A busy machine may delay the first check of the proxy.
  while ((await client.send('GET', { authorization: `Bearer ${key}` })) !== 200) await sleep(100);
  const connection = [...relay.connections].at(-1);
  const deadline = performance.now() + IDLE_MS_MAX;
  const isEnded = () => connection?.endedBy !== undefined;
  while (!isEnded() && performance.now() < deadline) await sleep(100);
  const { openedMs = 0, endedMs = 0, endedBy = 'nobody' } = connection ?? {};
  client.close();
  await proxy.close();
  await relay.close();
  return { endedBy, seconds: ((endedMs - openedMs) / 1_000).toFixed(1) };
}
