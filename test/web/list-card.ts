// What a person does with the card for a list, and sees there.

import type { Locator, Page } from 'playwright-core';
import { openMany } from './stage.ts';

export class ListCard {
  readonly page: Page;
  readonly card: Locator;
  readonly text: Locator;

  private constructor(page: Page) {
    this.page = page;
    this.card = page.locator('#many');
    this.text = page.getByLabel('Paste CSV, cells of a spreadsheet or JSON');
  }

  static async open(page: Page): Promise<ListCard> {
    await openMany(page);
    return new ListCard(page);
  }

  /** As a paste: a browser types thousands of lines in half a minute. */
  async paste(text: string): Promise<void> {
    const set = `all.value = ${JSON.stringify(text)}; all.dispatchEvent(new Event('input'));`;
    await this.page.evaluate(`((all) => { ${set} })(document.querySelector('#many-text'))`);
  }

  async choose(name: string, buffer: Buffer): Promise<void> {
    const chooser = this.page.waitForEvent('filechooser');
    await this.press('Choose a file');
    await (await chooser).setFiles({ name, mimeType: 'text/csv', buffer });
  }

  press(name: string): Promise<void> {
    return this.card.getByRole('button', { name, exact: true }).click();
  }

  says(words: string | RegExp): Promise<void> {
    return this.card.getByText(words).first().waitFor();
  }

  buttons(): Promise<string[]> {
    return this.card.locator('.preview .actions button').allTextContents();
  }

  faults(): Promise<string[]> {
    return this.card.locator('.faults li').allTextContents();
  }

  /** What is selected in the text. */
  selected(): Promise<string> {
    return this.page.evaluate(
      `(({ value, selectionStart, selectionEnd }) => value.slice(selectionStart, selectionEnd))(document.querySelector('#many-text'))`,
    );
  }
}
