import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const RECORD_PATH = fileURLToPath(new URL('noticed.json', import.meta.url));

/** Which test file has noticed each bug last. One line for each, by name, so that changes merge well. */
export class NoticeRecord {
  readonly #path: string;
  readonly #files: Map<string, string>;

  constructor(path: string) {
    this.#path = path;
    const files = JSON.parse(readFileSync(path, 'utf8')) as Record<string, string>;
    this.#files = new Map(Object.entries(files));
  }

  fileFor(name: string): string | undefined {
    return this.#files.get(name);
  }

  /** Written at once: a run takes long, and may be ended early. */
  set(name: string, file: string): void {
    if (this.#files.get(name) === file) return;
    this.#files.set(name, file);
    this.#write();
  }

  /** Leaves out all other bugs. */
  keep(names: ReadonlySet<string>): void {
    const gone = [...this.#files.keys()].filter((name) => !names.has(name));
    if (gone.length === 0) return;
    for (const name of gone) this.#files.delete(name);
    this.#write();
  }

  #write(): void {
    const entries = [...this.#files].toSorted(([one], [other]) => (one < other ? -1 : 1));
    writeFileSync(this.#path, `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`);
  }
}
