import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A library that delays every fsync, like a slower disk. A server loads it through LD_PRELOAD. */
const SOURCE = `#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

static int delayed(const char *name, int file) {
  struct timespec wait = {DELAY_MS / 1000, (DELAY_MS % 1000) * 1000000L};
  nanosleep(&wait, 0);
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  return real(file);
}
int fsync(int file) { return delayed("fsync", file); }
int fdatasync(int file) { return delayed("fdatasync", file); }
`;

/** Returns the environment variables that make a server use it, or undefined without a C compiler. */
export function slowFsync(folder: string, delayMs: number): Record<string, string> | undefined {
  const source = join(folder, 'slow-fsync.c');
  const library = join(folder, `slow-fsync-${delayMs}ms.so`);
  writeFileSync(source, SOURCE);
  const compiled = spawnSync('cc', [
    '-O2',
    '-shared',
    '-fPIC',
    `-DDELAY_MS=${delayMs}`,
    '-o',
    library,
    source,
    '-ldl',
  ]);
  return compiled.status === 0 ? { LD_PRELOAD: library } : undefined;
}
