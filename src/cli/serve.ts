import { randomBytes, randomUUID } from 'node:crypto';
import { loadConfig, type Config } from '../config.ts';
import { openLog } from '../ops/log.ts';
import { startService, storeFile, type Service } from '../service.ts';
import type { Io } from './command.ts';
import { help } from './help.ts';

export async function serve(args: string[], io: Io): Promise<number> {
  if (args.includes('--help')) {
    io.stdout.write(help());
    return 0;
  }
  const config = loadConfig(args, io.env);
  const log = openLog(config.logLevel, io.stderr);
  const service = await startService(config, {
    clock: { now: () => new Date(), elapsedMs: () => performance.now() },
    randomBytes,
    newRequestId: randomUUID,
    log,
  });
  io.stderr.write(welcome(config, service));
  log.info({ baseUrl: service.baseUrl, environment: config.environment }, 'started');
  const signal = await firstSignal();
  log.info({ signal }, 'stopping');
  await service.close();
  log.info('stopped');
  return 0;
}

/** Resolves at the first signal to stop. A second one ends the process at once. */
function firstSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let isStopping = false;
    const stop = (signal: NodeJS.Signals) => {
      if (isStopping) process.exit(1);
      isStopping = true;
      resolve(signal);
    };
    process.on('SIGTERM', stop);
    process.on('SIGINT', stop);
  });
}

/** The first lines a person sees: where everything is, the first key, and a line to try it with. */
function welcome(config: Config, { baseUrl, adminUrl, firstKey }: Service): string {
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
      ? ['  Keys were made before. For another: npx petstore keys create --name NAME']
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
