import type { Pet } from '../../../../sdk/src/index.ts';
import { AddForm } from './add.ts';
import { Catalogue } from './catalogue.ts';
import { button, byId, element } from './dom.ts';
import type { Fault } from './fault.ts';
import { JustAdded } from './just-added.ts';
import { removeSuccess, serviceWords } from './notice.ts';
import type { Parts } from './parts.ts';
import { linkedId } from './place.ts';
import { Session } from './session.ts';
import { storeAccess, storedAccess, type Access } from './stored-key.ts';

/** Why another key is needed, for the key form. */
export interface KeyRefusal {
  words: string;
  details: HTMLElement;
}

/** Says why the parts that the key does not allow are hidden. */
const ACCESS_WORDS: Record<Access, [title: string, text: string]> = {
  read: ['This key cannot add animals', 'It may only read the catalogue.'],
  write: ['This key only adds animals', 'It may not read the catalogue, so that is not shown.'],
};

/** The catalogue and its forms. */
export class Workspace {
  readonly #session = new Session();
  readonly #askForKey: (refusal?: KeyRefusal) => void;
  readonly #panels = byId('workspace', HTMLElement);
  readonly #note = byId('access-note', HTMLElement);
  readonly #addTitle = byId('add-title', HTMLElement);
  readonly #justAdded = new JustAdded((pet) => this.#open(pet));
  readonly #catalogue = new Catalogue(this.#session, {
    keyNeeded: (fault) => this.#changeKey(fault),
    forbidden: (fault) => this.#restrict('write', fault),
    open: (pet) => this.#open(pet),
    addMany: () => this.#addMany(),
  });
  #loading: Promise<Parts> | undefined;

  constructor(askForKey: (refusal?: KeyRefusal) => void) {
    this.#askForKey = askForKey;
    new AddForm(this.#session, {
      keyNeeded: (fault) => this.#changeKey(fault),
      forbidden: (fault) => this.#restrict('read', fault),
      added: (pet) => {
        this.#justAdded.add(pet);
        this.#refresh(pet.id);
      },
    }).listen();
    byId('lookup', HTMLFormElement).addEventListener('submit', (event) => {
      event.preventDefault();
      this.#with(this.#loadParts(), ({ lookup }) => lookup.send());
    });
    byId('download', HTMLButtonElement).addEventListener('click', () => {
      this.#with(this.#loadParts(), ({ download }) => download.press(this.#catalogue.status));
    });
    byId('add-many', HTMLButtonElement).addEventListener('click', () => this.#addMany());
    addEventListener('drop', (event) => {
      const file = event.dataTransfer?.files[0];
      if (file !== undefined && this.#session.isOpen) this.#addMany(file);
    });
  }

  /** Uses the key from now on. Returns whether the service accepts it. */
  async enter(key: string): Promise<boolean> {
    this.#session.open(key);
    delete this.#panels.dataset['access'];
    this.#note.replaceChildren();
    this.#addTitle.ariaLevel = null;
    const access = storedAccess(key);
    if (access !== undefined) this.#restrict(access);
    if (this.#mayRead) await this.#catalogue.open();
    const id = linkedId();
    if (id !== undefined && this.#session.isOpen)
      this.#with(this.#loadParts(), (parts) => void parts.openLinked(id));
    // A failure is shown when a part is used.
    this.#loadParts().catch(() => undefined);
    return this.#session.isOpen;
  }

  /** With a key that cannot read, the focus begins in the form. */
  focus(): void {
    byId(this.#panels.dataset['access'] === 'write' ? 'name' : 'title', HTMLElement).focus();
  }

  #changeKey(fault?: Fault): void {
    this.#session.close();
    this.#askForKey(
      fault && { words: `${fault.title}. ${fault.remedy}`, details: serviceWords(fault) },
    );
  }

  get #mayRead(): boolean {
    return this.#panels.dataset['access'] !== 'write';
  }

  #refresh(newId?: bigint): void {
    if (this.#mayRead) void this.#catalogue.refresh(newId);
  }

  #open(pet: Pet): void {
    this.#with(this.#loadParts(), (parts) => parts.openPet(pet));
  }

  #addMany(file?: File): void {
    removeSuccess();
    const card = this.#loadParts().then(({ many }) => many());
    this.#with(card, (many) => many.open(file));
  }

  /** Loads the parts that the first view does not need, once. */
  #loadParts(): Promise<Parts> {
    this.#loading ??= import('./parts.ts').then(({ newParts }) =>
      newParts(this.#session, {
        keyNeeded: (fault) => this.#changeKey(fault),
        forbidden: (fault) => this.#restrict('read', fault),
        added: (pet, words) => {
          this.#justAdded.add(pet);
          if (this.#mayRead) this.#catalogue.follow(words);
        },
        ended: () => this.#refresh(),
      }),
    );
    return this.#loading;
  }

  #with<Part>(loading: Promise<Part>, use: (part: Part) => void): void {
    loading.then(use, (error: unknown) => {
      byId('page-message', HTMLElement).replaceChildren(
        element(
          'div',
          { class: 'notice fault', role: 'alert' },
          element('p', { class: 'title' }, 'A part of this page could not be loaded'),
          element('p', {}, 'Check the connection, then load the page again. It keeps your place.'),
          button('Load again', () => location.reload()),
          element('p', { class: 'small' }, String(error)),
        ),
      );
    });
  }

  /**
   * Shows only what the scope of the key allows, and says why. The forms keep their values. Without a refusal,
   * the page remembers an earlier one.
   */
  #restrict(access: Access, refusal?: Fault): void {
    this.#panels.dataset['access'] = access;
    storeAccess(this.#session.apiKey, access);
    const another = button('Use another key', () => this.#changeKey());
    const [title, text] = ACCESS_WORDS[access];
    const isTyped = access === 'read' && refusal !== undefined;
    this.#note.replaceChildren(
      element(
        'div',
        { class: 'notice' },
        element(
          'div',
          { role: 'alert' },
          element('p', { class: 'title' }, title),
          element('p', {}, isTyped ? `${text} Nothing you typed is lost.` : text),
        ),
        another,
        ...(refusal === undefined ? [] : [serviceWords(refusal)]),
      ),
    );
    if (isTyped) another.focus();
    if (access !== 'write') return;
    // The title of the page is hidden with the catalogue, so that of the form takes its place.
    this.#addTitle.ariaLevel = '1';
    this.focus();
  }
}
