import { PostgresServer } from '../../harness/postgres-server.ts';
import type { DrillReport } from '../drill.ts';

export interface StoreChoice {
  name: 'SQLite' | 'PostgreSQL';
  /** The URL of a PostgreSQL that was started for the drill; undefined for the embedded store. */
  database: string | undefined;
}

/** Runs a drill on the embedded store and then on PostgreSQL, and makes one report of both. */
export async function onBothStores(
  run: (store: StoreChoice) => Promise<DrillReport>,
): Promise<DrillReport> {
  const sqlite = await run({ name: 'SQLite', database: undefined });
  const server = await PostgresServer.start({ isDurable: true });
  try {
    const postgres = await run({ name: 'PostgreSQL', database: server.url() });
    return mergeReports({ SQLite: sqlite, PostgreSQL: postgres });
  } finally {
    await server.close();
  }
}

/** One report of several runs. Each figure and violation names its run. */
export function mergeReports(reports: Readonly<Record<string, DrillReport>>): DrillReport {
  const figures: Record<string, string> = {};
  const violations: string[] = [];
  let passed = 0;
  for (const [name, report] of Object.entries(reports)) {
    passed += report.passed;
    violations.push(...report.violations.map((violation) => `${name}: ${violation}`));
    for (const [title, figure] of Object.entries(report.figures)) {
      const before = figures[title] === undefined ? '' : `${figures[title]}, `;
      figures[title] = `${before}${name} ${figure}`;
    }
  }
  return { passed, violations, figures };
}
