/** Finds a part of the page that its HTML promises. */
export function byId<Kind extends HTMLElement>(id: string, kind: new () => Kind): Kind {
  const found = document.getElementById(id);
  if (found instanceof kind) return found;
  throw new Error(`The page has no ${id}.`);
}

/** Makes an element. Children given as strings become text, never markup: names come from anywhere. */
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

/** A button that cannot be used now keeps its focus, so that the keyboard does not lose its place. */
export function setUsable(target: HTMLButtonElement, usable: boolean): void {
  target.setAttribute('aria-disabled', String(!usable));
}

export function isUsable(target: HTMLButtonElement): boolean {
  return target.getAttribute('aria-disabled') !== 'true';
}
