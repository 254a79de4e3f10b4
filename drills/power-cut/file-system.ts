import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Random } from '../../harness/random.ts';
import { applied, contentAfterCut, surviving, type Change } from './file-content.ts';
import type { RecordedEvent } from './recording.ts';

class DiskFile {
  /** What a power cut cannot change. */
  certain: Buffer = Buffer.alloc(0);
  pending: Change[] = [];
}

/** A change of the names in a folder that was not synced. */
interface NameChange {
  event: number;
  removed?: string;
  added?: { name: string; entry: Entry };
}

class DiskFolder {
  certain = new Map<string, Entry>();
  pending: NameChange[] = [];
}

type Entry = DiskFile | DiskFolder;

/** How the disk of a control lies, or what a model of the memory of the system leaves out. */
export interface DiskOptions {
  /** Whether a sync of this path has an effect; a disk that lies is a control. */
  isHonest?: ((path: string) => boolean) | undefined;
  /** Whether what a failed sync should have written is lost. Running processes still see it. By default it is. */
  forgets?: boolean;
}

/**
 * The files as the disk may have them. What was synced is certain. Everything later may be there or not, in any
 * order: each sector of a write, the size of a file, and each name in a folder. What a failed sync should have
 * written never reaches the disk, as on Linux, which marks these pages as clean: only a new write makes the next
 * sync write them.
 */
export class FileSystem {
  readonly #root = new DiskFolder();
  /** By inode number. */
  readonly #files = new Map<number, DiskFile>();
  /** By process and number of the sync: the event with which the sync began. */
  readonly #syncs = new Map<string, number>();
  readonly #isHonest: (path: string) => boolean;
  readonly #forgets: boolean;
  #event = 0;

  constructor({ isHonest = () => true, forgets = true }: DiskOptions = {}) {
    this.#isHonest = isHonest;
    this.#forgets = forgets;
  }

  apply(event: RecordedEvent): void {
    this.#event += 1;
    const { kind, path, path2, offset, data } = event;
    if (kind === 'create') {
      const file = new DiskFile();
      this.#files.set(event.file, file);
      this.#change(path, { added: file });
    } else if (kind === 'mkdir') this.#change(path, { added: new DiskFolder() });
    else if (kind === 'write') this.#pend(event, { event: this.#event, offset, bytes: data });
    else if (kind === 'truncate') this.#pend(event, { event: this.#event, size: offset });
    else if (kind === 'unlink') this.#change(path, { removes: true });
    else if (kind === 'link') this.#change(path2, { added: this.#find(path) });
    else if (kind === 'rename') this.#rename(path, path2);
    else if (kind === 'sync begin') this.#syncs.set(`${event.pid} ${offset}`, this.#event);
    else if (kind === 'sync end' && this.#isHonest(path)) this.#endSync(event);
    else if (kind === 'sync failed' && this.#forgets) this.#forget(event);
  }

  /** Whether some change of a file whose path ends like this is not synced. */
  hasPending(suffix: string): boolean {
    for (const [path, entry] of this.#walk()) {
      if (path.endsWith(suffix) && entry instanceof DiskFile && entry.pending.length > 0)
        return true;
    }
    return false;
  }

  /** Every file by its path, as running processes see it. */
  current(): Map<string, Buffer> {
    const contents = new Map<string, Buffer>();
    for (const [path, entry] of this.#walk()) {
      if (entry instanceof DiskFile) contents.set(path, applied(entry.certain, entry.pending));
    }
    return contents;
  }

  /** Writes the files to `target` as they may be after a power cut now. */
  cut(target: string, random: Random): void {
    // A file with two names is one file.
    const contents = new Map<DiskFile, Buffer>();
    const write = (folder: DiskFolder, path: string) => {
      mkdirSync(path, { recursive: true, mode: 0o700 });
      for (const [name, entry] of namesAfterCut(folder, random)) {
        const at = join(path, name);
        if (entry instanceof DiskFolder) {
          write(entry, at);
          continue;
        }
        const content =
          contents.get(entry) ?? contentAfterCut(entry.certain, entry.pending, random);
        contents.set(entry, content);
        writeFileSync(at, content, { mode: 0o600 });
      }
    };
    write(this.#root, target);
  }

  #pend(event: RecordedEvent, change: Change): void {
    const file = this.#files.get(event.file);
    if (file === undefined) throw new Error(`${event.path} was changed, but not created`);
    file.pending.push(change);
  }

  #rename(from: string, to: string): void {
    const entry = this.#find(from);
    if (dirname(from) !== dirname(to)) throw new Error(`${from} was moved to another folder`);
    this.#folderOf(to).pending.push({
      event: this.#event,
      removed: nameOf(from),
      added: { name: nameOf(to), entry },
    });
  }

  #change(path: string, change: { added?: Entry; removes?: boolean }): void {
    const name = nameOf(path);
    this.#folderOf(path).pending.push({
      event: this.#event,
      ...(change.removes === true ? { removed: name } : {}),
      ...(change.added === undefined ? {} : { added: { name, entry: change.added } }),
    });
  }

  /** Whether a change was made before the sync began. */
  #coveredBy({ pid, offset }: RecordedEvent): (change: { event: number }) => boolean {
    const begin = this.#syncs.get(`${pid} ${offset}`) ?? 0;
    return (change) => change.event < begin;
  }

  /** Only a log fails to sync. */
  #forget(event: RecordedEvent): void {
    const isCovered = this.#coveredBy(event);
    const file = this.#files.get(event.file);
    if (file !== undefined) file.pending = file.pending.filter((change) => !isCovered(change));
  }

  /** Makes certain what was changed before the sync began. */
  #endSync(event: RecordedEvent): void {
    const { file, path } = event;
    const isCovered = this.#coveredBy(event);
    const synced = file === 0 ? this.#find(path) : this.#files.get(file);
    if (synced instanceof DiskFile) {
      synced.certain = applied(synced.certain, synced.pending.filter(isCovered));
      synced.pending = synced.pending.filter((change) => !isCovered(change));
    } else if (synced !== undefined) {
      synced.certain = synced.pending.filter(isCovered).reduce(applyNameChange, synced.certain);
      synced.pending = synced.pending.filter((change) => !isCovered(change));
    }
  }

  #find(path: string): Entry {
    if (path === '') return this.#root;
    const entry = currentNames(this.#folderOf(path)).get(nameOf(path));
    if (entry === undefined) throw new Error(`${path} was used, but not created`);
    return entry;
  }

  #folderOf(path: string): DiskFolder {
    const parent = dirname(path);
    const folder = parent === '/' ? this.#root : this.#find(parent);
    if (folder instanceof DiskFile) throw new Error(`${parent} is not a folder`);
    return folder;
  }

  *#walk(folder = this.#root, path = ''): Generator<[path: string, entry: Entry]> {
    for (const [name, entry] of currentNames(folder)) {
      yield [`${path}/${name}`, entry];
      if (entry instanceof DiskFolder) yield* this.#walk(entry, `${path}/${name}`);
    }
  }
}

const nameOf = (path: string) => path.slice(path.lastIndexOf('/') + 1);
const currentNames = ({ certain, pending }: DiskFolder) => pending.reduce(applyNameChange, certain);

function applyNameChange(names: Map<string, Entry>, change: NameChange): Map<string, Entry> {
  const changed = new Map(names);
  if (change.removed !== undefined) changed.delete(change.removed);
  if (change.added !== undefined) changed.set(change.added.name, change.added.entry);
  return changed;
}

function namesAfterCut({ certain, pending }: DiskFolder, random: Random): Map<string, Entry> {
  return surviving(pending, random).reduce(applyNameChange, certain);
}
