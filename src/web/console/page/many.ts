import type { Pet } from '../../../../sdk/src/index.ts';
import { BulkAdd, type Phase } from './bulk.ts';
import { button, byId, element } from './dom.ts';
import type { Fault } from './fault.ts';
import { newInput, type ManyInput } from './many-input.ts';
import { previewView } from './many-preview.ts';
import { reportText, type Preview } from './many-rows.ts';
import { countdown, serviceWords } from './notice.ts';
import { saveCsv } from './save.ts';
import type { Session } from './session.ts';

export interface ManyEvents {
  keyNeeded: (fault?: Fault) => void;
  /** The key may not add animals. */
  forbidden: (fault: Fault) => void;
  /** `words` say how many of the list have been added so far. */
  added: (pet: Pet, words: string) => void;
  /** No further animal follows for now. */
  ended: () => void;
}

const TOGGLE_LABELS: Record<Phase['name'], string> = {
  running: 'Pause',
  waiting: 'Try now',
  paused: 'Resume',
  done: '',
};

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
  #list: Preview = { layout: { format: 'ndjson' }, rows: [], faults: [] };
  #bulk: BulkAdd | undefined;

  constructor(session: Session, on: ManyEvents) {
    this.#session = session;
    this.#on = on;
    this.#input = newInput((preview) => this.#show(preview));
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

  #show(preview: Preview | Error | undefined): void {
    this.#preview.replaceChildren();
    if (preview === undefined) return;
    this.#preview.append(previewView(preview, (list) => this.#start(list)));
  }

  #start(list: Preview): void {
    this.#list = list;
    this.#bulk = new BulkAdd(list.rows, (...pet) => this.#session.pets.create(...pet), {
      phase: (phase) => this.#showPhase(phase),
      added: (pet) => {
        this.#showCount();
        this.#on.added(pet, this.#count.textContent);
      },
    });
    this.#preview.replaceChildren();
    this.#input.view.hidden = true;
    this.#run.hidden = false;
    this.#bar.max = list.rows.length;
    this.#toggle.focus();
    void this.#bulk.run();
  }

  #pressToggle(): void {
    if (this.#bulk?.phase.name === 'running') this.#bulk.pause();
    else void this.#bulk?.run();
  }

  #showCount(): void {
    const { rows } = this.#list;
    const added = rows.filter(({ id }) => id !== undefined).length;
    this.#bar.value = this.#bulk?.done ?? 0;
    this.#count.textContent = `${added} of ${rows.length} added`;
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
    const unsent = rows.length - (this.#bulk?.done ?? 0);
    const parts = [
      unsent > 0 ? `Stopped. Not sent: ${unsent}.` : 'Finished.',
      ...(refused > 0 ? [`Refused by the service: ${refused}.`] : []),
      ...(faults.length > 0 ? [`Lines left out for a fault: ${faults.length}.`] : []),
      'The report has every line.',
    ];
    return [element('p', {}, parts.join(' '))];
  }

  #afterwards({ name }: Phase): HTMLElement[] {
    if (name === 'running' || name === 'waiting') return [];
    const download = button('Download the report', () =>
      saveCsv('petstore-report.csv', reportText(this.#list)),
    );
    return name === 'done'
      ? [download, button('Add another list', () => this.#reset())]
      : [download];
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
    byId('add-many', HTMLElement).focus();
  }
}
