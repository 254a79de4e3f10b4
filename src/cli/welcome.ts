import type { Config } from '../config.ts';
import { storeFile, type Service } from '../service.ts';

/** The first lines a person sees: where everything is, the first key, and a line to try it with. */
export function welcome(
  config: Config,
  { baseUrl, adminUrl, firstKey }: Pick<Service, 'baseUrl' | 'adminUrl' | 'firstKey'>,
): string {
  const site = baseUrl.replace(/\/v1$/, '');
  const places = [
    ['API', baseUrl],
    ['Console', `${site}/`],
    ['Docs', `${site}/docs`],
    ['Metrics', adminUrl === undefined ? 'off' : `${adminUrl}/metrics`],
    ['Store', config.databaseUrl === undefined ? storeFile(config) : 'PostgreSQL'],
  ];
  const lines = [
    `Pet Store (${config.environment}) is ready at ${baseUrl}`,
    '',
    ...places.map(([name, place]) => `  ${name?.padEnd(8)} ${place}`),
    '',
    ...(firstKey === undefined || config.bootstrapKey !== undefined
      ? ['  Use a key you have, or make one: npx petstore keys create --name NAME']
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
