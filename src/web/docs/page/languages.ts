const STORAGE_NAME = 'petstore.language';

/** All samples change to the language that the reader chooses, and later pages begin with it. */
export function followLanguage(): void {
  const wanted = read();
  if (wanted !== undefined) choose(wanted);
  document.addEventListener('change', ({ target }) => {
    if (!(target instanceof HTMLInputElement) || target.closest('.samples') === null) return;
    const top = target.getBoundingClientRect().top;
    choose(target.value);
    write(target.value);
    // The samples above changed their height. Scrolling keeps the one in use in its place.
    scrollBy(0, target.getBoundingClientRect().top - top);
  });
}

function choose(language: string): void {
  for (const input of document.querySelectorAll<HTMLInputElement>('.samples input')) {
    if (input.value === language) input.checked = true;
  }
}

function read(): string | undefined {
  try {
    return localStorage.getItem(STORAGE_NAME) ?? undefined;
  } catch {
    return undefined;
  }
}

function write(language: string): void {
  try {
    localStorage.setItem(STORAGE_NAME, language);
  } catch {
    // Without storage, the language is chosen on each page.
  }
}
