import { dirname, resolve } from 'node:path';
import { SETTINGS, type Config } from '../config.ts';
import { VERSION } from '../ops/installation.ts';
import { siteOf } from '../http/target.ts';
import { isLoopback, networkUrls } from '../listen.ts';
import { openLog, type Log } from '../ops/log.ts';
import type { Service } from '../service.ts';
import type { Io } from './command.ts';
import { nameOfStore } from '../open-store.ts';
import { programName, shellQuoted } from './program-name.ts';

const PLAIN_HTTP =
  'API keys of other machines cross the network unencrypted: put a proxy with TLS before the service';

type Started = Pick<Service, 'baseUrl' | 'adminUrl' | 'firstKey'>;

/**
 * Says that the service has started: as text for people on a terminal, and otherwise as one line of the log, which
 * is written at every level. The first key is then alone on standard output, and a line of the log before it says so.
 */
export function announce(
  config: Config,
  service: Started,
  { log, io, workers }: { log: Log; io: Io; workers?: number },
): void {
  const { environment } = config;
  const start = { version: VERSION, environment, workers };
  if (io.stderr.isTTY === true) {
    io.stderr.write(welcome(config, service));
    log.info(start, 'started');
    return;
  }
  const key = keyToShow(config, service);
  const shown = openLog('info', io.stderr);
  if (key !== undefined) {
    shown.info('the first API key, shown only this once, is the line on standard output');
    io.stdout.write(`${key}\n`);
  }
  const createKey = key === undefined ? commandForKey(config) : undefined;
  const places = placesOf(config, service).map(([name, place]) => [name.toLowerCase(), place]);
  const network = networkOf(config, service);
  shown.info(
    {
      ...start,
      baseUrl: service.baseUrl,
      network: network.length === 0 ? undefined : network,
      ...Object.fromEntries(places),
      createKey,
    },
    'started',
  );
  const { host } = config;
  if (!isLoopback(host)) log.warn({ host }, PLAIN_HTTP);
}

/** The text after a start: each address once, and the first key. */
export function welcome(config: Config, service: Started): string {
  const key = keyToShow(config, service);
  const network = networkOf(config, service).map((url) => ['Network', url] as const);
  const places = placesOf(config, service).toSpliced(1, 0, ...network);
  const lines = [
    `Pet Store (${config.environment}) is ready at ${service.baseUrl}`,
    '',
    ...places.map(([name, place]) => `  ${name.padEnd(8)} ${place}`),
    '',
    ...(isLoopback(config.host) ? [] : [`  ${PLAIN_HTTP}.`, '']),
    ...(key === undefined
      ? [`  Use a key you have, or make one: ${commandForKey(config)}`]
      : ['  Open the console and paste this key. It is shown only this once:', '', `    ${key}`]),
    '',
  ];
  return `${lines.join('\n')}\n`;
}

/** The key that this start has created, unless the operator knows it already. */
function keyToShow({ bootstrapKey }: Config, { firstKey }: Started): string | undefined {
  return bootstrapKey === undefined ? firstKey : undefined;
}

/** The console for other machines, if they can reach the service and no setting says under which URL. */
function networkOf({ baseUrl, host }: Config, started: Started): string[] {
  if (baseUrl !== undefined) return [];
  const port = Number(new URL(started.baseUrl).port || 80);
  return networkUrls(host, port).map((url) => `${url}/`);
}

function placesOf(config: Config, { baseUrl, adminUrl }: Started): (readonly [string, string])[] {
  const site = siteOf(baseUrl);
  return [
    ['Console', `${site}/`],
    ['Docs', `${site}/docs`],
    ...(adminUrl === undefined
      ? ([['Metrics', noMetrics(config)]] as const)
      : ([
          ['Monitor', `${adminUrl}/`],
          ['Metrics', `${adminUrl}/metrics`],
        ] as const)),
    ['Store', nameOfStore(config)],
  ];
}

function noMetrics({ adminPort }: Config): string {
  if (adminPort === undefined) return 'off';
  if (adminPort === 0) return 'on the ports that the workers log';
  const { variable } = SETTINGS['admin-port'];
  return `off: port ${adminPort} is already in use; --admin-port (${variable}) names another`;
}

/** The command that creates a key for this service. */
function commandForKey({ environment, dataFolder, databaseUrl }: Config): string {
  const command = [`${programName()} keys create --name NAME`];
  if (environment !== 'production') command.push(`--env ${environment}`);
  // The address of a database may hold a password, so it is not printed.
  if (databaseUrl !== undefined) {
    return `${command.join(' ')}, with the DATABASE_URL of this service`;
  }
  const data = dirname(resolve(dataFolder));
  if (data !== resolve('data')) command.push(`--data ${shellQuoted(data)}`);
  return command.join(' ');
}
