import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { needs } from '../../harness/needs.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';

/** While a certain file exists, fsync waits, as on a disk that hangs. */
export const HANGING_SYNC = `
static int held(const char *name, int file) {
  while (access(getenv("FAULT_FILE"), F_OK) == 0) usleep(20000);
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  return real(file);
}
int fsync(int file) { return held("fsync", file); }
int fdatasync(int file) { return held("fdatasync", file); }
`;

/** While a certain file exists, fsync fails, as on a disk that cannot write. */
export const FAILING_SYNC = `
static int perhaps(const char *name, int file) {
  if (access(getenv("FAULT_FILE"), F_OK) == 0) {
    errno = EIO;
    return -1;
  }
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  return real(file);
}
int fsync(int file) { return perhaps("fsync", file); }
int fdatasync(int file) { return perhaps("fdatasync", file); }
`;

/** While a certain file exists, every read of the store fails. SQLite calls most of these errors "malformed". */
export const FAILING_READS = `
static ssize_t perhaps(const char *name, int file, void *to, size_t count, off64_t at) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  path[length > 0 ? length : 0] = 0;
  if (strstr(path, "petstore.sqlite") != NULL && access(getenv("FAULT_FILE"), F_OK) == 0) {
    errno = EIO;
    return -1;
  }
  ssize_t (*real)(int, void *, size_t, off64_t) = (ssize_t (*)(int, void *, size_t, off64_t))dlsym(RTLD_NEXT, name);
  return real(file, to, count, at);
}
ssize_t pread(int file, void *to, size_t count, off_t at) { return perhaps("pread", file, to, count, at); }
ssize_t pread64(int file, void *to, size_t count, off64_t at) { return perhaps("pread64", file, to, count, at); }
`;

const HEADERS = [
  'dlfcn.h',
  'errno.h',
  'stdio.h',
  'stdlib.h',
  'string.h',
  'sys/types.h',
  'unistd.h',
];

export interface FaultyDisk {
  /** The environment variables that make a process load the library. */
  env: Record<string, string>;
  /** Begins the fault. */
  hold(): void;
  /** Ends the fault. */
  release(): void;
}

/**
 * Compiles a library that a process loads in front of the C library. Returns undefined where that is not possible:
 * it needs Linux and a C compiler.
 */
function compile(functions: string): string | undefined {
  const folder = temporaryFolder();
  const [source, library] = [join(folder, 'fault.c'), join(folder, 'fault.so')];
  const includes = HEADERS.map((name) => `#include <${name}>\n`).join('');
  writeFileSync(source, `#define _GNU_SOURCE\n${includes}${functions}`);
  const flags = ['-O2', '-shared', '-fPIC', '-o', library, source, '-ldl'];
  if (process.platform !== 'linux' || spawnSync('cc', flags).status !== 0) return undefined;
  // Where the libraries of the system do not fit the compiler, a program that loads this one does not start.
  const env = { ...process.env, LD_PRELOAD: library, FAULT_FILE: join(folder, 'none') };
  const { status, stderr } = spawnSync('true', { env, encoding: 'utf8' });
  return status === 0 && stderr === '' ? library : undefined;
}

/** A kind of fault, compiled when the test file is loaded. */
export class DiskFault {
  readonly #library: string | undefined;

  constructor(functions: string) {
    this.#library = compile(functions);
  }

  /** The value for the `skip` option of a test: the reason, or false. */
  get skip(): string | false {
    return needs('cc, a C compiler that builds for this Linux', this.#library !== undefined);
  }

  /** A disk that has the fault between `hold` and `release`, for the processes that get its variables. */
  newDisk(folder: string): FaultyDisk {
    const fault = join(folder, 'fault');
    return {
      env: { LD_PRELOAD: this.#library ?? '', FAULT_FILE: fault },
      hold: () => writeFileSync(fault, ''),
      release: () => rmSync(fault, { force: true }),
    };
  }
}
