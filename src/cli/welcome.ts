import { dirname, resolve } from 'node:path';
import { SETTINGS, type Config } from '../config.ts';
import type { Variables } from '../setting.ts';
import type { Service } from '../service.ts';
import { nameOfStore } from './store-flags.ts';
import { programName, shellQuoted } from './program-name.ts';

/** The text after a start: the addresses, the first key, and a command to try it with. */
export function welcome(
  config: Config,
  { baseUrl, adminUrl, firstKey }: Pick<Service, 'baseUrl' | 'adminUrl' | 'firstKey'>,
  variables: Variables,
): string {
  const site = baseUrl.replace(/\/v1$/, '');
  const places = [
    ['API', baseUrl],
    ['Console', `${site}/`],
    ['Docs', `${site}/docs`],
    ...(adminUrl === undefined
      ? [['Metrics', noMetrics(config)]]
      : [
          ['Monitor', `${adminUrl}/`],
          ['Metrics', `${adminUrl}/metrics`],
        ]),
    ['Store', nameOfStore(config)],
  ];
  const lines = [
    `Pet Store (${config.environment}) is ready at ${baseUrl}`,
    '',
    ...places.map(([name, place]) => `  ${name?.padEnd(8)} ${place}`),
    '',
    ...(firstKey === undefined || config.bootstrapKey !== undefined
      ? [`  Use a key you have, or make one: ${commandForKey(config, variables)}`]
      : [
          '  Your first API key, shown this once:',
          '',
          `    ${firstKey}`,
          '',
          '  Try it:',
          '',
          `    curl -H 'Authorization: Bearer ${firstKey}' ${baseUrl}/pets`,
        ]),
    '',
  ];
  return `${lines.join('\n')}\n`;
}

function noMetrics({ adminPort }: Config): string {
  if (adminPort === undefined) return 'off';
  const { variable } = SETTINGS['admin-port'];
  return `off: port ${adminPort} is already in use; --admin-port (${variable}) names another`;
}

/** The command that creates a key for this service. */
function commandForKey(
  { environment, dataFolder, databaseUrl }: Config,
  variables: Variables,
): string {
  const command = [`${programName(variables)} keys create --name NAME`];
  if (environment !== 'production') command.push(`--env ${environment}`);
  // The address of a database may hold a password, so it is not printed.
  if (databaseUrl !== undefined) {
    return `${command.join(' ')}, with the DATABASE_URL of this service`;
  }
  const data = dirname(resolve(dataFolder));
  if (data !== resolve('data')) command.push(`--data ${shellQuoted(data)}`);
  return command.join(' ');
}
