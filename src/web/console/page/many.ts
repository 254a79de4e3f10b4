import type { Pet } from '../../../../sdk/src/index.ts';
import { unitOf } from '../../../pet-file/pet-reader.ts';
import { BulkAdd, type Phase, type Row } from './bulk.ts';
import { writeClipboard } from './copy.ts';
import { button, byId, element } from './dom.ts';
import { saveCsv } from './download.ts';
import type { Fault } from './fault.ts';
import { grouped } from './fields.ts';
import { lineKey } from './line-key.ts';
import { newInput, type ManyInput, type ManyText } from './many-input.ts';
import { previewView } from './many-preview.ts';
import { notAdded, reportText } from './many-report.ts';
import type { Preview } from './many-rows.ts';
import { countdown, serviceWords } from './notice.ts';
import { petName } from './pet.ts';
import { SeenLines } from './seen-lines.ts';
import type { Session } from './session.ts';

export interface ManyEvents {
  keyNeeded: (fault?: Fault) => void;
  /** The key may not add animals. */
  forbidden: (fault: Fault) => void;
  /** `words` say how many of the list have been added so far. */
  added: (pet: Pet, words: string) => void;
  /** It has ended or is paused. */
  ended: () => void;
}

const TOGGLE_LABELS: Record<Phase['name'], string> = {
  running: 'Pause',
  waiting: 'Try now',
  paused: 'Resume',
  done: '',
};

const FOUND_SHOWN_MAX = 5;

/** The card that adds a list of animals: paste or drop, look at the preview, add, keep the report. */
export class ManyCard {
  readonly #session: Session;
  readonly #on: ManyEvents;
  readonly #card = byId('many', HTMLElement);
  readonly #input: ManyInput;
  readonly #preview = element('div', {});
  readonly #run = element('div', { class: 'run', hidden: '' });
  readonly #bar = element('progress', { 'aria-label': 'Animals added' });
  readonly #count = element('p', { class: 'title' });
  readonly #told = element('div', { role: 'status' });
  readonly #toggle = button('Pause', () => this.#pressToggle());
  readonly #stop = button('Stop here', () => this.#bulk?.stop(), 'quiet');
  readonly #close = button('Close', () => this.#end(), 'quiet');
  readonly #after = element('div', { class: 'actions' });
  #list: Preview = { text: '', layout: { format: 'ndjson' }, rows: [], faults: [], trimmed: 0 };
  /** How often lines of the list were added again on purpose. */
  #repetition = 0;
  #seen = new SeenLines('');
  #bulk: BulkAdd | undefined;

  constructor(session: Session, on: ManyEvents) {
    this.#session = session;
    this.#on = on;
    this.#input = newInput((list) => this.#show(list));
    this.#run.append(
      this.#count,
      this.#bar,
      this.#told,
      element('div', { class: 'actions' }, this.#toggle, this.#stop, this.#after),
    );
    const title = element('h2', { id: 'many-title', tabindex: '-1' }, 'Add many at once');
    const head = element('div', { class: 'head' }, title, this.#close);
    this.#card.append(head, this.#input.view, this.#preview, this.#run);
    addEventListener('online', () => {
      if (this.#bulk?.phase.name === 'waiting') void this.#bulk.run();
    });
    addEventListener('beforeunload', (event) => {
      if (this.#isUnfinished) event.preventDefault();
    });
    addEventListener('pagehide', () => this.#seen.save());
  }

  /** Opens the card, with a file if one was dropped. A list that is being added stays. */
  open(file?: File): void {
    this.#card.hidden = false;
    this.#card.scrollIntoView({ block: 'nearest' });
    if (this.#bulk !== undefined) return byId('many-title', HTMLElement).focus();
    this.#input.focus();
    if (file !== undefined) void this.#input.read(file);
  }

  get #isUnfinished(): boolean {
    return this.#bulk !== undefined && this.#bulk.phase.name !== 'done';
  }

  #show(list: ManyText | Error | undefined): void {
    this.#preview.replaceChildren();
    if (list === undefined) return;
    const view = previewView(list, {
      start: (preview) => {
        this.#list = preview;
        this.#repetition = 0;
        this.#start(preview.rows);
      },
      markSeen: ({ rows }) => this.#markSeen(rows),
    });
    this.#preview.append(view);
  }

  #markSeen(rows: readonly Row[]): void {
    this.#seen = new SeenLines(this.#session.apiKey);
    for (const row of rows) row.isSeen = this.#seen.has(row.idempotencyKey);
  }

  /**
   * Adds again the lines that were there already. Each gets the key of the next repetition. The key is the same
   * after a reload, so that a repetition can be finished too. One whose lines were all added is skipped.
   */
  #addAgain(): void {
    const rows = this.#list.rows.filter(({ wasThere }) => wasThere);
    const keyOf = ({ pet, occurrence }: Row) => lineKey(pet, occurrence, this.#repetition);
    do this.#repetition += 1;
    while (rows.every((row) => this.#seen.has(keyOf(row))));
    for (const row of rows) {
      row.idempotencyKey = keyOf(row);
      row.wasThere = false;
      delete row.id;
    }
    this.#markSeen(rows);
    this.#start(rows);
  }

  #start(rows: readonly Row[]): void {
    this.#bulk = new BulkAdd(rows, (...line) => this.#session.create(...line), {
      phase: (phase) => this.#showPhase(phase),
      added: (pet, { idempotencyKey }) => {
        this.#seen.add(idempotencyKey);
        this.#showCount();
        this.#on.added(pet, this.#count.textContent);
      },
      found: () => this.#showCount(),
    });
    this.#preview.replaceChildren();
    this.#input.view.hidden = true;
    this.#run.hidden = false;
    this.#bar.max = rows.length;
    this.#toggle.focus();
    void this.#bulk.run();
  }

  #pressToggle(): void {
    if (this.#bulk?.phase.name === 'running') this.#bulk.pause();
    else void this.#bulk?.run();
  }

  #showCount(): void {
    const { rows } = this.#list;
    const found = rows.filter(({ wasThere }) => wasThere).length;
    const added = rows.filter(({ id }) => id !== undefined).length - found;
    this.#bar.value = this.#bulk?.done ?? 0;
    const there = found === 0 ? '' : `, ${grouped(found)} already there`;
    this.#count.textContent = `${grouped(added)} of ${grouped(rows.length)} added${there}`;
  }

  #showPhase(phase: Phase): void {
    const { name } = phase;
    const isDone = name === 'done';
    this.#toggle.textContent = TOGGLE_LABELS[name];
    this.#toggle.className = name === 'paused' ? 'primary' : '';
    const hadFocus = this.#run.contains(document.activeElement);
    this.#toggle.hidden = isDone;
    this.#stop.hidden = isDone;
    this.#close.hidden = !isDone;
    this.#showCount();
    this.#told.replaceChildren(...this.#wordsFor(phase));
    this.#after.replaceChildren(...this.#afterwards(phase));
    if (isDone && hadFocus) this.#after.querySelector('button')?.focus();
    if (name !== 'paused' && !isDone) return;
    this.#seen.save();
    const fault = 'fault' in phase ? phase.fault : undefined;
    if (fault?.isKeyRefused === true) this.#on.keyNeeded(fault);
    else if (fault?.isForbidden === true) this.#on.forbidden(fault);
    else this.#on.ended();
  }

  #wordsFor(phase: Phase): (Node | string)[] {
    if (phase.name === 'done') return this.#outcome();
    if (phase.name === 'running') return [];
    const { fault } = phase;
    if (fault === undefined) return ['Paused. Nothing is added until you resume.'];
    const words = element('p', {}, `${fault.title}. No animal is added twice.`);
    if (phase.name === 'paused') return [words, serviceWords(fault)];
    return [words, countdown(phase.waitMs, () => undefined), serviceWords(fault)];
  }

  #outcome(): HTMLElement[] {
    const { rows, faults } = this.#list;
    const refused = rows.filter(({ refusal }) => refusal !== undefined).length;
    const unsent = rows.filter(({ id, refusal }) => (id ?? refusal) === undefined).length;
    const parts = [
      unsent > 0 ? `Stopped. Not sent: ${grouped(unsent)}.` : 'Finished.',
      ...(refused > 0 ? [`Refused by the service: ${grouped(refused)}.`] : []),
      ...(faults.length > 0 ? [`Lines left out for a fault: ${grouped(faults.length)}.`] : []),
      'The report has every line.',
    ];
    const found = rows.filter(({ wasThere }) => wasThere);
    const words = element('p', {}, parts.join(' '));
    return found.length === 0 ? [words] : [words, this.#foundNotice(found)];
  }

  #foundNotice(found: readonly Row[]): HTMLElement {
    const { length } = found;
    const unit = unitOf(this.#list.layout);
    const rest = length - FOUND_SHOWN_MAX;
    const Unit = unit === 'item' ? 'Item' : 'Line';
    return element(
      'div',
      { class: 'notice' },
      element(
        'p',
        { class: 'title' },
        length === 1
          ? `1 ${unit} was there already`
          : `${grouped(length)} ${unit}s were there already`,
      ),
      element('p', {}, 'This key added the same in the last 24 hours. Nothing was added twice.'),
      element(
        'ul',
        { class: 'faults' },
        ...found
          .slice(0, FOUND_SHOWN_MAX)
          .map(({ line, pet, id }) =>
            element(
              'li',
              {},
              element('b', {}, `${Unit} ${line}`),
              ' ',
              petName(pet.name),
              `, already added as ${id}`,
            ),
          ),
      ),
      element('p', {}, rest > 0 ? `and ${grouped(rest)} more` : ''),
      button('Add these again', () => this.#addAgain()),
    );
  }

  #afterwards({ name }: Phase): HTMLElement[] {
    if (name === 'running' || name === 'waiting') return [];
    const download = button('Download the report', () =>
      saveCsv('petstore-report.csv', reportText(this.#list)),
    );
    if (name !== 'done') return [download];
    const left = notAdded(this.#list);
    const told = element('div', { class: 'copied', role: 'status' });
    const copy = button('Copy the lines that were not added', () => void copyLines(left, told));
    const another = button('Add another list', () => this.#reset());
    return left.count === 0 ? [download, another] : [download, copy, another, told];
  }

  #reset(): void {
    this.#bulk = undefined;
    this.#run.hidden = true;
    this.#input.view.hidden = false;
    this.#input.clear();
    this.#input.focus();
  }

  #end(): void {
    this.#reset();
    this.#card.hidden = true;
    // Without animals, the invitation has replaced the button of the form.
    const invitation = document.querySelector<HTMLElement>('.invitation button');
    (invitation ?? byId('add-many', HTMLElement)).focus();
  }
}

/** A page that was loaded over plain HTTP from another machine has no clipboard. */
async function copyLines(
  { text, count }: ReturnType<typeof notAdded>,
  told: HTMLElement,
): Promise<void> {
  if (await writeClipboard(text)) {
    told.textContent = count === 1 ? 'Copied 1 line.' : `Copied ${grouped(count)} lines.`;
    return;
  }
  const lines = element('textarea', { readonly: '', rows: '6', 'aria-label': 'The lines' }, text);
  told.replaceChildren(element('p', {}, 'This page has no clipboard. Copy the lines here:'), lines);
  lines.select();
}
