import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { dirname } from 'node:path';

export interface Paths {
  /** The file that the service has open. */
  file: string;
  /** A valid copy of the store, made before each round. Some faults move it to `file`. */
  spare: string;
  /** An unused path. */
  aside: string;
}

/** `lose` removes or replaces the file, `restore` puts a valid one in its place. */
export interface FileFault {
  name: string;
  lose(paths: Paths): Promise<void>;
  /** Undefined if `lose` replaces the file with a valid one in the same step. */
  restore: ((paths: Paths) => Promise<void>) | undefined;
  /** The old file comes back: every acknowledged create must be in it, also those sent before the fault. */
  isOldFileBack: boolean;
}

const putSpare = ({ file, spare }: Paths) => rename(spare, file);

export const FILE_FAULTS: readonly FileFault[] = [
  {
    name: 'the file replaced by mv',
    lose: putSpare,
    restore: undefined,
    isOldFileBack: false,
  },
  {
    name: 'the file deleted',
    lose: ({ file }) => rm(file),
    restore: putSpare,
    isOldFileBack: false,
  },
  {
    name: 'the file, its log and its shared memory deleted',
    lose: async ({ file }) => {
      for (const name of [file, `${file}-wal`, `${file}-shm`]) await rm(name, { force: true });
    },
    restore: putSpare,
    isOldFileBack: false,
  },
  {
    name: 'the file moved away and back',
    lose: ({ file, aside }) => rename(file, aside),
    restore: ({ file, aside }) => rename(aside, file),
    isOldFileBack: true,
  },
  {
    name: 'the file replaced by the database of another program',
    lose: async ({ file, aside }) => {
      const other = new DatabaseSync(aside);
      other.exec('CREATE TABLE guests (name TEXT)');
      other.close();
      await rename(aside, file);
    },
    restore: putSpare,
    isOldFileBack: false,
  },
  {
    name: 'the file replaced by a file that is not a database',
    lose: async ({ file, aside }) => {
      await writeFile(aside, 'not a database, but long enough that SQLite reads it');
      await rename(aside, file);
    },
    restore: putSpare,
    isOldFileBack: false,
  },
  {
    name: 'the folder moved away and back',
    lose: ({ file, aside }) => rename(dirname(file), aside),
    restore: ({ file, aside }) => rename(aside, dirname(file)),
    isOldFileBack: true,
  },
  {
    name: 'the folder deleted',
    lose: ({ file }) => rm(dirname(file), { recursive: true }),
    restore: async (paths) => {
      await mkdir(dirname(paths.file));
      await putSpare(paths);
    },
    isOldFileBack: false,
  },
];
