import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { dirname } from 'node:path';

export interface Paths {
  /** The file that the service has open. */
  file: string;
  /** A good store, made just before; it is moved away by those faults that put it in place. */
  spare: string;
  /** A name that nobody uses. */
  aside: string;
}

/** One way to lose a file: `lose` takes it away, `restore` puts a good one in its place. */
export interface FileFault {
  name: string;
  lose(paths: Paths): Promise<void>;
  /** Undefined: what takes the old file away puts the good one there in the same step. */
  restore: ((paths: Paths) => Promise<void>) | undefined;
  /** The old file comes back, so that nothing acknowledged may be missing, whenever it was sent. */
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
    name: 'a file of another program in its place',
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
    name: 'a file that is no database in its place',
    lose: async ({ file, aside }) => {
      await writeFile(aside, 'no database at all, but long enough to be looked at');
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
