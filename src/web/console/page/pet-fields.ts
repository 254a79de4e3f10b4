import { parseTypedInt64 } from '../../../domain/int64.ts';
import { PET_STATUSES, type PetStatus } from '../../../../sdk/src/index.ts';
import { isBlank, trimName } from '../../../domain/typed-pet.ts';
import { byId } from './dom.ts';
import type { Fault } from './fault.ts';
import { FIELD_WORDS, FIELDS, splitByField, type Field } from './fields.ts';
import { serviceWords } from './notice.ts';

/** The fields of an animal in a form: what is typed, and beside each what is wrong with it. */
export class PetFields {
  readonly #form: HTMLFormElement;
  /** Before the ids of the fields: a page has one of each id. */
  readonly #prefix: string;
  readonly name: HTMLInputElement;
  readonly categoryId: HTMLInputElement;

  constructor(form: HTMLFormElement, prefix = '') {
    this.#form = form;
    this.#prefix = prefix;
    this.name = byId(`${prefix}name`, HTMLInputElement);
    this.categoryId = byId(`${prefix}categoryId`, HTMLInputElement);
    form.addEventListener('input', (event) => {
      this.#show((event.target as HTMLInputElement).name as Field, undefined);
    });
  }

  get typed(): { name: string; categoryId: string; status: PetStatus | undefined } {
    const wanted = new FormData(this.#form).get('status');
    return {
      name: trimName(this.name.value),
      categoryId: this.categoryId.value.trim(),
      status: PET_STATUSES.find((status) => status === wanted),
    };
  }

  /** Rejects what cannot be sent, and a name without a visible character. The service validates the rest. */
  read(): { name: string; categoryId: bigint; status: PetStatus | undefined } | undefined {
    const { name, categoryId: text, status } = this.typed;
    const categoryId = parseTypedInt64(text);
    if (categoryId !== undefined && !isBlank(name)) return { name, categoryId, status };
    this.showFaults({
      name: FIELD_WORDS.name(name),
      categoryId: FIELD_WORDS.categoryId(categoryId ?? text),
    });
    return undefined;
  }

  /** Shows, beside its field, each part of a refusal that is about a field. Returns whether there is one. */
  showRefusal(fault: Fault): boolean {
    const parts = fault.action === 'none' ? splitByField(fault.message) : {};
    const refused = FIELDS.filter((field) => parts[field] !== undefined);
    this.showFaults(Object.fromEntries(refused.map((field) => [field, this.#wordsFor(field)])));
    for (const field of refused) {
      const message = parts[field] ?? '';
      this.#faultOf(field).append(serviceWords({ ...fault, message }));
    }
    return refused.length > 0;
  }

  showFaults(faults: Partial<Record<Field, string | undefined>>): void {
    for (const field of FIELDS) this.#show(field, faults[field]);
    const first = FIELDS.find((field) => faults[field] !== undefined);
    if (first === 'name') this.name.focus();
    if (first === 'categoryId') this.categoryId.focus();
  }

  #wordsFor(field: Field): string {
    return FIELD_WORDS[field](this.typed[field]) ?? 'The service did not accept this.';
  }

  #show(field: Field, words: string | undefined): void {
    this.#faultOf(field).textContent = words ?? '';
    if (field === 'status') return;
    if (words === undefined) this[field].removeAttribute('aria-invalid');
    else this[field].setAttribute('aria-invalid', 'true');
  }

  #faultOf(field: Field): HTMLElement {
    return byId(`${this.#prefix}${field}-fault`, HTMLElement);
  }
}
