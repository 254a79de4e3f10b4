// Writes dist/petstore-service-VERSION.cdx.json: the software bill of materials (CycloneDX) of what runs, from the
// lock file. The same lock file gives the same bytes.

import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const ROOT = dirname(import.meta.dirname);

interface LockedPackage {
  version: string;
  license?: string;
  integrity?: string;
  dev?: boolean;
}

interface Sbom {
  serialNumber?: string;
  metadata: { timestamp?: string; tools?: unknown; component: { name: string; version: string } };
  components: { 'bom-ref': string; properties?: unknown; licenses?: unknown }[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

/** The packages of the lock file that a user gets, by name and version. */
export function runtimePackages(): ReadonlyMap<string, LockedPackage> {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, LockedPackage>;
  };
  const runtime = Object.entries(lock.packages).filter(
    ([path, { dev }]) => path !== '' && dev !== true,
  );
  return new Map(
    runtime.map(([path, locked]) => [
      `${path.replace(/^.*node_modules\//, '')}@${locked.version}`,
      locked,
    ]),
  );
}

/** Lists all packages and then selects: `npm sbom --omit dev` drops those that a development tool uses too. */
export function runtimeSbom(): Sbom {
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'];
  const text = execFileSync('npm', args, {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'ignore'],
    shell: process.platform === 'win32',
  });
  const sbom = JSON.parse(text) as Sbom;
  const { name } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { name: string };
  const runtime = runtimePackages();
  // The time, the random number and the version of npm differ from run to run, and the name is the folder's.
  delete sbom.serialNumber;
  delete sbom.metadata.timestamp;
  delete sbom.metadata.tools;
  sbom.metadata.component.name = name;
  const own = `${name}@${sbom.metadata.component.version}`;
  const isKept = (reference: string) => reference === own || runtime.has(reference);
  sbom.components = sbom.components.filter((component) => isKept(component['bom-ref']));
  sbom.dependencies = sbom.dependencies
    .filter(({ ref }) => isKept(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter(isKept) }));
  return sbom;
}

if (import.meta.main) {
  const sbom = runtimeSbom();
  const { name, version } = sbom.metadata.component;
  const file = `${name}-${version}.cdx.json`;
  mkdirSync(join(ROOT, 'dist'), { recursive: true });
  writeFileSync(join(ROOT, 'dist', file), `${JSON.stringify(sbom, undefined, 2)}\n`);
  process.stdout.write(`${file}\n`);
}
