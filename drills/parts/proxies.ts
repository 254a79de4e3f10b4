import { isInstalled, PROXY_PROGRAMS, type ProxyProgram } from '../../test/support/proxies.ts';
import type { Drill, DrillOptions, DrillReport } from '../drill.ts';
import { drillPlainRestarts, drillRollingRestarts, type RestartsReport } from './proxy-restarts.ts';

const SHOWN_EVERY = 500;
/** Longer than any of the proxies tries again. */
const CONTROL_AWAY_MS = 8_000;

export const drill: Drill = {
  purpose:
    'nginx, Caddy and HAProxy with their files of contrib/, TLS, HTTP/2 and HTTP/1.1: no request fails in rolling restarts, nor in plain restarts with two instances.',
  unit: 'requests per proxy and kind of restart',
  rounds: 20_000,
  quickRounds: 1_000,
  isNamedOnly: true,
  findMissing: () =>
    PROXY_PROGRAMS.some(isInstalled) ? undefined : 'none of nginx, Caddy and HAProxy is installed',
  run,
  control: { brokenBy: 'plain restarts with only one instance', run: runControl },
};

async function run({ rounds, onProgress }: DrillOptions): Promise<DrillReport> {
  const report: DrillReport & { violations: string[]; figures: Record<string, string> } = {
    passed: 0,
    violations: [],
    figures: {},
  };
  for (const kind of PROXY_PROGRAMS) {
    if (!isInstalled(kind)) {
      report.figures[kind.name] = 'skipped, because it is not installed';
      continue;
    }
    const optionsOf = (restarts: string) => ({
      requests: rounds,
      onProgress: (requests: number) => {
        if (requests % SHOWN_EVERY === 0)
          onProgress(`${kind.name}, ${restarts}: ${requests} requests`);
      },
    });
    const rolling = await drillRollingRestarts(kind, optionsOf('rolling restarts'));
    const plain = await drillPlainRestarts(kind, {
      ...optionsOf('plain restarts'),
      instances: 2,
      awayMs: 0,
    });
    for (const [restarts, found] of Object.entries({ rolling, plain })) {
      const prefix = `${kind.name}, ${restarts} restarts`;
      report.figures[prefix] = describe(found);
      report.passed += found.requests - found.failed;
      report.violations.push(...found.violations.map((violation) => `${prefix}: ${violation}`));
    }
  }
  return report;
}

/** Every proxy must fail, or the control counts as green. */
async function runControl({ rounds }: DrillOptions): Promise<DrillReport> {
  const reports: RestartsReport[] = [];
  for (const kind of PROXY_PROGRAMS.filter((each: ProxyProgram) => isInstalled(each))) {
    const options = { requests: rounds, onProgress: () => undefined };
    reports.push(
      await drillPlainRestarts(kind, { ...options, instances: 1, awayMs: CONTROL_AWAY_MS }),
    );
  }
  const isRed = reports.every(({ failed }) => failed > 0);
  const violations = isRed ? reports.flatMap((report) => report.violations) : [];
  return { passed: 0, violations, figures: {} };
}

function describe({ requests, failed, restarts, slowestMs }: RestartsReport): string {
  return `${requests} requests, ${failed} failed, ${restarts} restarts, slowest ${slowestMs} ms`;
}
