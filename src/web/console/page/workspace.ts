import type { Pet } from '../../../../sdk/src/index.ts';
import { AddForm } from './add.ts';
import { openLinked, openPet, type AnimalParts } from './animal.ts';
import { Catalogue } from './catalogue.ts';
import { button, byId, element } from './dom.ts';
import { ENVIRONMENT } from './environment.ts';
import { explain, type Fault } from './fault.ts';
import { ManyCard } from './many.ts';
import { removeSuccess } from './notice.ts';
import { rowId } from './pet.ts';
import { linkedId } from './place.ts';
import { Session, type Access } from './session.ts';

/** The catalogue and its forms. A key sees the controls that it may use. */
export class Workspace {
  readonly #session = new Session();
  readonly #askForKey: (fault?: Fault) => void;
  readonly #panels = byId('workspace', HTMLElement);
  readonly #note = byId('access-note', HTMLElement);
  readonly #addTitle = byId('add-title', HTMLElement);
  readonly #keyNeeded = (fault?: Fault): void => this.#changeKey(fault);
  readonly #addMany = (): void => this.#openMany();
  readonly #catalogue: Catalogue = new Catalogue(this.#session, {
    keyNeeded: this.#keyNeeded,
    open: (pet) => openPet(pet, this.#parts),
    addMany: this.#addMany,
  });
  readonly #parts: AnimalParts = {
    session: this.#session,
    changes: this.#catalogue.changes,
    keyNeeded: this.#keyNeeded,
    closed: ({ id }) => this.#catalogue.rows.focus(rowId(id), 'open'),
  };
  readonly #added = (pet?: Pet): void => {
    if (this.#session.access.mayRead) this.#catalogue.showAdded(pet);
  };
  readonly #many = new ManyCard(this.#session, { keyNeeded: this.#keyNeeded, added: this.#added });

  constructor(askForKey: (fault?: Fault) => void) {
    this.#askForKey = askForKey;
    new AddForm(this.#session, { keyNeeded: this.#keyNeeded, added: this.#added }).listen();
    byId('add-many', HTMLButtonElement).addEventListener('click', this.#addMany);
    addEventListener('drop', (event) => {
      const file = event.dataTransfer?.files[0];
      if (file !== undefined && this.#session.access.mayAdd) this.#openMany(file);
    });
  }

  /**
   * Asks what the key may do, and uses it from now on. Returns whether the service accepts it. Throws if that
   * could not be asked.
   */
  async enter(key: string): Promise<boolean> {
    try {
      await this.#session.open(key);
      return true;
    } catch (error) {
      const fault = explain(error);
      if (!fault.isKeyRefused) throw error;
      this.#changeKey(fault);
      return false;
    }
  }

  /** Shows what the key may use, and loads the catalogue. After a reload the focus stays where it is. */
  show({ isReturn = false } = {}): void {
    const { access } = this.#session;
    const allowed = [
      access.mayRead ? 'read' : '',
      access.mayAdd ? 'add' : '',
      access.mayChange ? 'change' : '',
    ];
    this.#panels.dataset['may'] = allowed.join(' ');
    // Without the catalogue, the title of the form is that of the page.
    this.#addTitle.ariaLevel = access.mayRead ? null : '1';
    this.#showNote(access);
    if (access.mayRead) void this.#catalogue.open();
    const id = linkedId();
    if (id !== undefined) {
      void openLinked(id, this.#parts);
    }
    if (!isReturn || !access.mayRead) {
      byId(access.mayRead ? 'title' : 'name', HTMLElement).focus();
    }
  }

  #changeKey(fault?: Fault): void {
    this.#session.close();
    this.#askForKey(fault);
  }

  #openMany(file?: File): void {
    removeSuccess();
    this.#many.open(file);
  }

  /** Says what the key may not do, where a person would miss it. */
  #showNote(access: Access): void {
    const words = noteWords(access);
    this.#note.replaceChildren();
    if (words === undefined) return;
    const another = button('Use another key', () => this.#changeKey());
    this.#note.append(element('div', { class: 'notice' }, element('p', {}, ...words), another));
  }
}

function noteWords(access: Access): (string | HTMLElement)[] | undefined {
  const { mayRead, mayAdd, mayChange, hasManageScope } = access;
  if (!mayRead && !mayAdd) return ['This key may neither read the catalogue nor add animals.'];
  if (!mayRead) return ['This key only adds animals, so the catalogue is not shown.'];
  if (!mayAdd) {
    return [mayChange ? 'This key cannot add animals.' : 'This key only reads the catalogue.'];
  }
  if (hasManageScope) return undefined;
  const flag = ENVIRONMENT === 'staging' ? ' --env staging' : '';
  return [
    'This key cannot change or remove animals; whoever runs the service makes one that can with ',
    element(
      'code',
      {},
      `petstore keys create --name NAME --scopes pets:read,pets:write,pets:manage${flag}`,
    ),
    '.',
  ];
}
