import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const RECORD_PATH = fileURLToPath(new URL('noticed.json', import.meta.url));

/** What has noticed a bug: a test file and, once it is known, the title of its test. */
export interface NoticedBy {
  file: string;
  title: string | undefined;
}

const SEPARATOR = ': ';

/** What has noticed each bug last. One line for each, by name, so that changes merge well. */
export class NoticeRecord {
  readonly #path: string;
  readonly #lines: Map<string, string>;

  constructor(path: string) {
    this.#path = path;
    const lines = JSON.parse(readFileSync(path, 'utf8')) as Record<string, string>;
    this.#lines = new Map(Object.entries(lines));
  }

  find(name: string): NoticedBy | undefined {
    const line = this.#lines.get(name);
    if (line === undefined) return undefined;
    const [file = '', ...title] = line.split(SEPARATOR);
    return { file, title: title.length === 0 ? undefined : title.join(SEPARATOR) };
  }

  /** Written at once: a run takes long, and may be ended early. */
  set(name: string, { file, title }: { file: string; title: string }): void {
    const line = `${file}${SEPARATOR}${title}`;
    if (this.#lines.get(name) === line) return;
    this.#lines.set(name, line);
    this.#write();
  }

  /** Leaves out all other bugs. */
  keep(names: ReadonlySet<string>): void {
    const gone = [...this.#lines.keys()].filter((name) => !names.has(name));
    if (gone.length === 0) return;
    for (const name of gone) this.#lines.delete(name);
    this.#write();
  }

  #write(): void {
    const entries = [...this.#lines].toSorted(([one], [other]) => (one < other ? -1 : 1));
    writeFileSync(this.#path, `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`);
  }
}
