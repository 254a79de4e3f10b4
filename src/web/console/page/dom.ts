/** Finds an element of the page, or throws if the HTML lacks it. */
export function byId<Kind extends HTMLElement>(id: string, kind: new () => Kind): Kind {
  const found = document.getElementById(id);
  if (found instanceof kind) return found;
  throw new Error(`The page has no ${id}.`);
}

/** Finds the first element below another, or throws. */
export function find<Kind extends HTMLElement>(
  below: HTMLElement,
  selector: string,
  kind: new () => Kind,
): Kind {
  const found = below.querySelector(selector);
  if (found instanceof kind) return found;
  throw new Error(`There is no ${selector}.`);
}

/** Creates an element. Strings become text, never markup, because anyone can choose the name of an animal. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string>>,
  ...children: (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

export function button(label: string, onClick: () => void, kind = ''): HTMLButtonElement {
  const made = element('button', { type: 'button', class: kind }, label);
  made.addEventListener('click', onClick);
  return made;
}

/** Sets aria-disabled and not disabled, so that the button keeps the keyboard focus. */
export function setUsable(target: HTMLButtonElement, usable: boolean): void {
  target.setAttribute('aria-disabled', String(!usable));
}

export function isUsable(target: HTMLButtonElement): boolean {
  return target.getAttribute('aria-disabled') !== 'true';
}
