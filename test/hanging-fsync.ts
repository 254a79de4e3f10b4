import { spawnSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A library whose fsync waits while a certain file exists, as on a disk that hangs. */
const SOURCE = `#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>

static int held(const char *name, int file) {
  while (access(HANG_FILE, F_OK) == 0) usleep(20000);
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  return real(file);
}
int fsync(int file) { return held("fsync", file); }
int fdatasync(int file) { return held("fdatasync", file); }
`;

export interface HangingDisk {
  /** The environment variables that make a process load the library. */
  env: Record<string, string>;
  hold(): void;
  release(): void;
}

/** Compiles the library that a process loads. Returns undefined without a C compiler. */
export function newHangingDisk(folder: string): HangingDisk | undefined {
  const [source, library, hang] = ['hang.c', 'hang.so', 'hang'].map((name) => join(folder, name));
  if (source === undefined || library === undefined || hang === undefined) return undefined;
  writeFileSync(source, SOURCE);
  const flags = ['-O2', '-shared', '-fPIC', `-DHANG_FILE="${hang}"`, '-o', library, source, '-ldl'];
  if (spawnSync('cc', flags).status !== 0 || !existsSync(library)) return undefined;
  return {
    env: { LD_PRELOAD: library },
    hold: () => writeFileSync(hang, ''),
    release: () => rmSync(hang, { force: true }),
  };
}
