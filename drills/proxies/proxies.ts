import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { newSecret } from '../../src/domain/api-key.ts';
import { Proxy, type ProxyProgram } from '../../test/proxies.ts';
import { Relay } from '../../test/relay.ts';
import { ServiceProcess } from '../fleet/service-process.ts';

const CONNECTIONS = 16;
/** Every fourth request is a create. */
const CREATE_EVERY = 4;
const IDLE_MS_MAX = 120_000;

export interface ProxyReport {
  failed: number;
  failedAfterSilence: number;
  /** How many connections the proxy opened to the service for all requests. */
  connections: number;
  /** Which side ended an idle connection, and when. */
  endedBy: string;
  endedAfterSeconds: string;
  violations: string[];
}

interface Sender {
  agent: Agent;
  create: () => Promise<string | undefined>;
  list: () => Promise<string | undefined>;
}

export async function drillProxy(
  kind: ProxyProgram,
  { requests, silences }: { requests: number; silences: readonly number[] },
): Promise<ProxyReport> {
  const data = await mkdtemp(join(tmpdir(), 'petstore-drill-'));
  const key = newSecret('production', randomBytes);
  const service = await ServiceProcess.start(['--data', data], key);
  const port = Number(new URL(service.baseUrl).port);
  const loaded = await underLoad(kind, { port, key, requests });
  const [idle, ...silent] = await Promise.all([
    idleConnection(kind, port, key),
    ...silences.map((seconds) => afterSilence(kind, { port, key, seconds })),
  ]);
  const failures = silent.filter((failure) => failure !== undefined);
  const violations = [...loaded.failures, ...failures, ...(await service.stop())];
  await rm(data, { recursive: true, force: true });
  if (idle.endedBy !== 'proxy') violations.push(`an idle connection was ended by ${idle.endedBy}`);
  return {
    ...idle,
    failed: loaded.failures.length,
    failedAfterSilence: failures.length,
    connections: loaded.connections,
    violations,
  };
}

async function underLoad(
  kind: ProxyProgram,
  { port, key, requests }: { port: number; key: string; requests: number },
): Promise<{ failures: string[]; connections: number }> {
  const failures: string[] = [];
  const relay = await Relay.open(port);
  const proxy = await Proxy.configure(kind, relay.port);
  await proxy.start();
  let sent = 0;
  const client = async () => {
    const { agent, create, list } = senderThrough(proxy, key);
    while (sent < requests) {
      sent += 1;
      const failure = await (sent % CREATE_EVERY === 0 ? create() : list());
      if (failure !== undefined) failures.push(failure);
    }
    agent.destroy();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, client));
  await proxy.close();
  await relay.close();
  return { failures, connections: relay.connections.size };
}

/** Sends one create over connections that were idle for this long and that no other request uses. */
async function afterSilence(
  kind: ProxyProgram,
  { port, key, seconds }: { port: number; key: string; seconds: number },
): Promise<string | undefined> {
  const proxy = await Proxy.configure(kind, port);
  await proxy.start();
  const { agent, create } = senderThrough(proxy, key);
  let failure = await create();
  await sleep(seconds * 1000);
  failure ??= await create();
  agent.destroy();
  await proxy.close();
  return failure === undefined ? undefined : `after ${seconds} s of silence: ${failure}`;
}

async function idleConnection(
  kind: ProxyProgram,
  port: number,
  key: string,
): Promise<{ endedBy: string; endedAfterSeconds: string }> {
  const relay = await Relay.open(port);
  const proxy = await Proxy.configure(kind, relay.port);
  await proxy.start();
  const { agent, list } = senderThrough(proxy, key);
  await list();
  const [connection] = relay.connections;
  const deadline = performance.now() + IDLE_MS_MAX;
  const isEnded = () => connection?.endedBy !== undefined;
  while (!isEnded() && performance.now() < deadline) await sleep(100);
  const { openedMs = 0, endedMs = 0, endedBy = 'nobody' } = connection ?? {};
  agent.destroy();
  await proxy.close();
  await relay.close();
  return { endedBy, endedAfterSeconds: ((endedMs - openedMs) / 1000).toFixed(1) };
}

/** One client that keeps its connection. Each call returns the failure, or undefined. */
function senderThrough(proxy: Proxy, key: string): Sender {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: proxy.certificate });
  const headers = { authorization: `Bearer ${key}` };
  const send = async (method: string, expected: number, body?: string) => {
    try {
      const { status } = await proxy.send('/v1/pets', body, { agent, method, headers });
      return status === expected ? undefined : `${method} returned ${status}`;
    } catch (error) {
      return `${method} failed: ${String(error)}`;
    }
  };
  return {
    agent,
    create: () => send('POST', 201, '{"name":"Rex","categoryId":7}'),
    list: () => send('GET', 200),
  };
}
