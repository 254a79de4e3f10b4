import { parseTypedInt64 } from '../../../domain/int64.ts';
import { FIELDS, trimName, typingFaults, type Field } from '../../../domain/typed-pet.ts';
import { PET_STATUSES, type Pet, type PetStatus } from '../../../../sdk/src/index.ts';
import { byId, element, find } from './dom.ts';

/** What a form holds. */
interface Values {
  name: string;
  categoryId: bigint;
  status: PetStatus | undefined;
}
type Typed = Omit<Values, 'categoryId'> & { categoryId: string };

/** The fields of the form that adds an animal, for another form. A page has one of each id. */
export function copyFields(prefix: string): HTMLElement {
  const fields = find(byId('add', HTMLFormElement), '.fields', HTMLElement);
  const copy = fields.cloneNode(true) as HTMLElement;
  for (const each of copy.querySelectorAll('*')) {
    for (const name of ['id', 'for', 'aria-describedby']) {
      const id = each.getAttribute(name);
      if (id !== null) each.setAttribute(name, prefix + id);
    }
  }
  return copy;
}

/** The fields of an animal in a form: what is typed, and beside each what is wrong with it. */
export class PetFields {
  readonly #form: HTMLFormElement;
  /** Before the ids of the fields. */
  readonly #prefix: string;
  readonly name: HTMLInputElement;
  readonly categoryId: HTMLInputElement;

  constructor(form: HTMLFormElement, prefix = '') {
    this.#form = form;
    this.#prefix = prefix;
    this.name = byId(`${prefix}name`, HTMLInputElement);
    this.categoryId = byId(`${prefix}categoryId`, HTMLInputElement);
    for (const field of FIELDS) this.#show(field, undefined);
    form.addEventListener('input', (event) => {
      this.#show((event.target as HTMLInputElement).name as Field, undefined);
    });
  }

  get typed(): Typed {
    const wanted = new FormData(this.#form).get('status');
    return {
      name: trimName(this.name.value),
      categoryId: this.categoryId.value.trim(),
      status: PET_STATUSES.find((status) => status === wanted),
    };
  }

  fill({ name, categoryId, status }: Partial<Typed | Values>): void {
    if (name !== undefined) this.name.value = name;
    if (categoryId !== undefined) this.categoryId.value = String(categoryId);
    for (const radio of this.#form.querySelectorAll<HTMLInputElement>('[type=radio]')) {
      if (status !== undefined) radio.checked = radio.value === status;
    }
  }

  /** What is typed, if these fields of it can be stored. Otherwise each fault is said beside its field. */
  read(fields: readonly Field[] = FIELDS): Values | undefined {
    const { name, categoryId: text, status } = this.typed;
    const categoryId = parseTypedInt64(text);
    const words = typingFaults({ name, categoryId: categoryId ?? text, status });
    const [first] = fields.filter((field) => this.#show(field, words[field]));
    if (first === 'name' || first === 'categoryId') this[first].focus();
    return first === undefined && categoryId !== undefined
      ? { name, categoryId, status }
      : undefined;
  }

  /** Returns whether there is a fault. */
  #show(field: Field, words: string | undefined): boolean {
    byId(`${this.#prefix}${field}-fault`, HTMLElement).textContent = words ?? '';
    if (field === 'status') return words !== undefined;
    if (words === undefined) this[field].removeAttribute('aria-invalid');
    else this[field].setAttribute('aria-invalid', 'true');
    return words !== undefined;
  }
}

const CATEGORIES_MAX = 50;
let seenCategories: bigint[] = [];

/** Suggests, in the forms, the categories of the animals shown so far. The oldest are dropped first. */
export function suggestCategories(pets: readonly Pet[]): void {
  const categories = new Set([...pets.map(({ categoryId }) => categoryId), ...seenCategories]);
  seenCategories = [...categories].slice(0, CATEGORIES_MAX);
  byId('categories', HTMLDataListElement).replaceChildren(
    ...seenCategories
      .toSorted((a, b) => (a < b ? -1 : 1))
      .map((category) => element('option', { value: String(category) })),
  );
}
