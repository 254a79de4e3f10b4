// What a person does in the console and sees there. Tests of the console speak in these verbs.

import type { Locator, Page } from 'playwright-core';

export type Status = 'available' | 'pending' | 'sold';

export class ConsolePage {
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  async signIn(key: string): Promise<void> {
    await this.page.getByLabel('API key').fill(key);
    await this.press('Open the catalogue');
  }

  press(name: string): Promise<void> {
    return this.page.getByRole('button', { name, exact: true }).click();
  }

  /** Waits until the list shows its animals, or that it has none. */
  isLoaded(): Promise<void> {
    return this.page.locator('#catalogue[aria-busy=false] :is(#rows tr, .empty)').first().waitFor();
  }

  /** Waits until the list says where it is. */
  listSays(words: string | RegExp): Promise<void> {
    return this.page.locator('#place', { hasText: words }).waitFor();
  }

  says(words: string | RegExp): Promise<void> {
    return this.page.getByText(words).first().waitFor();
  }

  statusOf(name: string): Locator {
    return this.page.getByRole('button', { name: `Status of ${name}:` });
  }

  async mark(name: string, status: Status): Promise<void> {
    await this.statusOf(name).click();
    await this.page.locator(`#statuses .${status}`).click();
  }

  async select(...names: string[]): Promise<void> {
    for (const name of names) {
      await this.page.getByLabel(`Select ${name}`, { exact: true }).check();
    }
  }

  /** Opens an animal, and returns its dialog. */
  async open(name: string): Promise<Locator> {
    await this.page.getByRole('button', { name, exact: true }).click();
    const dialog = this.page.getByRole('dialog', { name, exact: true });
    await dialog.waitFor();
    return dialog;
  }

  async find(text: string): Promise<void> {
    await this.page.locator('#find-text').fill(text);
    await this.page.keyboard.press('Enter');
  }

  filter(status: 'All' | 'Available' | 'Pending' | 'Sold'): Promise<void> {
    return this.page.locator('#filter label', { hasText: status }).click();
  }

  async fill(name: string, category: string): Promise<void> {
    await this.page.locator('#name').fill(name);
    await this.page.locator('#categoryId').fill(category);
  }

  async add(name: string, category: string): Promise<void> {
    await this.fill(name, category);
    await this.press('Add animal');
  }

  /** What the form holds: name, category and status. */
  typed(): Promise<string[]> {
    return this.page
      .locator('#add :is(#name, #categoryId, :checked)')
      .evaluateAll((all) => all.map((each) => ('value' in each ? String(each.value) : '')));
  }

  toast(): Locator {
    return this.page.locator('#toast');
  }
}
