import { spawnSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** While a certain file exists, fsync waits, as on a disk that hangs. */
const HANGING_SYNC = `
static int held(const char *name, int file) {
  while (access(FAULT_FILE, F_OK) == 0) usleep(20000);
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  return real(file);
}
int fsync(int file) { return held("fsync", file); }
int fdatasync(int file) { return held("fdatasync", file); }
`;

/** While a certain file exists, every read of the store fails. SQLite calls most of these errors "malformed". */
const FAILING_READS = `
static ssize_t perhaps(const char *name, int file, void *to, size_t count, off64_t at) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  path[length > 0 ? length : 0] = 0;
  if (strstr(path, "petstore.sqlite") != NULL && access(FAULT_FILE, F_OK) == 0) {
    errno = EIO;
    return -1;
  }
  ssize_t (*real)(int, void *, size_t, off64_t) = (ssize_t (*)(int, void *, size_t, off64_t))dlsym(RTLD_NEXT, name);
  return real(file, to, count, at);
}
ssize_t pread(int file, void *to, size_t count, off_t at) { return perhaps("pread", file, to, count, at); }
ssize_t pread64(int file, void *to, size_t count, off64_t at) { return perhaps("pread64", file, to, count, at); }
`;

const HEADERS = ['dlfcn.h', 'errno.h', 'stdio.h', 'string.h', 'sys/types.h', 'unistd.h'];

export interface FaultyDisk {
  /** The environment variables that make a process load the library. */
  env: Record<string, string>;
  /** Begins the fault. */
  hold(): void;
  /** Ends the fault. */
  release(): void;
}

/** Syncs hang between `hold` and `release`. Returns undefined without a C compiler. */
export function newHangingDisk(folder: string): FaultyDisk | undefined {
  return compile(folder, HANGING_SYNC);
}

/** Reads of the store fail between `hold` and `release`. Returns undefined without a C compiler. */
export function newUnreadableDisk(folder: string): FaultyDisk | undefined {
  return compile(folder, FAILING_READS);
}

/** Compiles a library that a process loads in front of the C library. */
function compile(folder: string, functions: string): FaultyDisk | undefined {
  const source = join(folder, 'fault.c');
  const library = join(folder, 'fault.so');
  const fault = join(folder, 'fault');
  const includes = HEADERS.map((name) => `#include <${name}>\n`).join('');
  writeFileSync(source, `#define _GNU_SOURCE\n${includes}${functions}`);
  const define = `-DFAULT_FILE="${fault}"`;
  const flags = ['-O2', '-shared', '-fPIC', define, '-o', library, source, '-ldl'];
  if (spawnSync('cc', flags).status !== 0 || !existsSync(library)) return undefined;
  return {
    env: { LD_PRELOAD: library },
    hold: () => writeFileSync(fault, ''),
    release: () => rmSync(fault, { force: true }),
  };
}
