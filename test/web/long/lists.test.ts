// A list is added in the console: with one request, once, and with its faulty lines corrected.

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ListCard } from '../list-card.ts';
import { signIn, Stage, test, visit } from '../stage.ts';

/** Longer than the page waits for more of a text. */
const READ_MS = 400;
const FAULTY = [7, 500, 1_234, 2_000, 2_999];

/** The lines of a list, of which these are faulty. */
function linesOf(name: string, count: number, faulty: readonly number[] = []): string[] {
  return Array.from({ length: count }, (_, at) =>
    faulty.includes(at) ? `${name} ${at},seven` : `${name} ${at},${at}`,
  );
}

const listOf = (lines: readonly string[]) => `name,categoryId\n${lines.join('\n')}\n`;

async function open(t: TestContext): Promise<{ card: ListCard; stage: Stage }> {
  const stage = await Stage.open(t);
  const { page } = await visit(t, stage, { key: stage.key });
  await page.getByText('No animals yet').waitFor();
  return { card: await ListCard.open(page), stage };
}

async function names(stage: Stage): Promise<string[]> {
  const pets = await stage.client().pets.list({ limit: 100 }).toArray();
  return pets.map(({ name }) => name);
}

test('console › of 3,000 lines 5 are faulty: they are found, corrected, and all are added once', async (t) => {
  const { card, stage } = await open(t);
  await card.paste(listOf(linesOf('A', 3_000, FAULTY)));
  await card.says('5 lines have a fault');
  assert.deepEqual(await card.buttons(), ['Add the 2,995 animals without a fault']);
  assert.deepEqual(
    await card.faults(),
    FAULTY.map((at) => `Line ${at + 2} The category is a whole number, such as 7.`),
  );
  await card.press('Line 1236');
  assert.equal(await card.selected(), 'A 1234,seven');
  await card.page.keyboard.insertText('A 1234,1234');
  await card.says('4 lines have a fault');
  for (const line of ['Line 9', 'Line 502', 'Line 2002', 'Line 3001']) {
    await card.press(line);
    const selected = await card.selected();
    await card.page.keyboard.insertText(selected.replace('seven', '7'));
    await card.says(line === 'Line 3001' ? 'Add 3,000 animals' : 'have a fault');
  }
  await card.press('Add 3,000 animals');
  await card.says('3,000 animals were added.');
  await card.page.locator('#place', { hasText: 'Animals 1–20, newest first' }).waitFor();
  assert.equal(await card.text.inputValue(), '');
  const stored = await names(stage);
  assert.equal(stored.length, 3_000);
  assert.deepEqual(stored.slice(1_233, 1_236), ['A 1233', 'A 1234', 'A 1235']);
});

test('console › a press on the number of a faulty line brings it into sight, also on a phone', async (t) => {
  const { card } = await open(t);
  await card.page.setViewportSize({ width: 360, height: 740 });
  await card.paste(listOf(linesOf('A', 1_000, [500, 600, 601, 602, 603, 604, 605, 606, 607, 998])));
  for (const at of [998, 500]) {
    await card.press(`Line ${at + 2}`);
    // How far the line is from the top of the text, and the text from the window, in heights of them.
    const places = await card.page.evaluate<number[]>(`(() => {
      const text = document.querySelector('#many-text');
      const { top, bottom } = text.getBoundingClientRect();
      const { scrollTop, scrollHeight, clientHeight } = text;
      return [(scrollHeight * ${at + 1} / 1_002 - scrollTop) / clientHeight, top, innerHeight - bottom];
    })()`);
    assert.ok(places.every((place) => place >= 0) && (places[0] ?? 1) < 1, places.join(', '));
  }
});

test('console › the lines without a fault are added, and the card keeps the others, to be corrected and added alone', async (t) => {
  const { card, stage } = await open(t);
  await card.paste(listOf(linesOf('B', 3_000, FAULTY)));
  await card.press('Add the 2,995 animals without a fault');
  await card.says('2,995 animals were added. The lines with a fault are below');
  const left = FAULTY.map((at) => `B ${at},seven`);
  assert.equal(await card.text.inputValue(), listOf(left));
  assert.equal(await card.page.evaluate('document.activeElement.id'), 'many-text');
  await card.says('Nothing can be added.');
  await card.paste(listOf(left.map((line) => line.replace('seven', '7'))));
  await card.press('Add 5 animals');
  await card.says('5 animals were added.');
  const stored = await names(stage);
  assert.equal(stored.length, 3_000);
  assert.equal(new Set(stored).size, 3_000);
});

test('D45: the same list is recognised: it is added again only on purpose, and its faulty lines can be had again', async (t) => {
  const { card, stage } = await open(t);
  const list = listOf(linesOf('C', 3, [1]));
  await card.paste(list);
  await card.press('Add the 2 animals without a fault');
  await card.says('2 animals were added.');
  await card.paste(list);
  await card.says('This list was added before');
  await card.says('2 animals of it were added. Lines left out for a fault: 1.');
  assert.equal(await card.card.getByText('What will be added').count(), 0);
  assert.deepEqual(await card.buttons(), ['Keep only the faulty lines', 'Add 2 animals again']);
  await card.press('Keep only the faulty lines');
  await card.says('2 animals of this list are in the catalogue.');
  assert.equal(await card.text.inputValue(), 'name,categoryId\nC 1,seven\n');
  await card.paste(list);
  await card.press('Add 2 animals again');
  await card.says('2 animals were added.');
  assert.deepEqual(await names(stage), ['C 0', 'C 2', 'C 0', 'C 2']);
});

test('console › after a lost response the same list adds nothing twice, by itself and with "Try again"', async (t) => {
  const { card, stage } = await open(t);
  let lost = 0;
  await card.page.route(/console.import.(?!dry-run)/, async (route) => {
    await route.fetch();
    lost += 1;
    return route.abort('connectionreset');
  });
  const list = listOf(linesOf('D', 2, [1]));
  await card.paste(list);
  await card.press('Add the 1 animal without a fault');
  await card.says('The service cannot be reached');
  assert.equal(lost, 3, 'it is sent again by itself');
  assert.equal(await card.text.inputValue(), list);
  await card.page.unrouteAll();
  await card.press('Try again');
  await card.says('1 animal of this list is in the catalogue.');
  assert.equal(await card.text.inputValue(), 'name,categoryId\nD 1,seven\n');
  assert.deepEqual(await names(stage), ['D 0']);
});

test('console › the columns of a table without known headings are chosen, by keyboard alone, and the list is added', async (t) => {
  const { card, stage } = await open(t);
  const { page } = card;
  const { keyboard } = page;
  const sent: string[] = [];
  page.on('request', (request) => {
    const columns = new URL(request.url()).searchParams.get('columns');
    if (columns !== null) sent.push(columns);
  });
  await keyboard.insertText('7;Rex;verkauft\n8;Tom;\n');
  await card.says('Which column is which?');
  await keyboard.press('Tab');
  await keyboard.press('Tab');
  await keyboard.press('Tab');
  assert.equal(await page.evaluate('document.activeElement.labels[0].firstChild.data'), 'Name');
  await keyboard.type('2');
  await keyboard.press('Tab');
  await keyboard.type('2');
  await card.says('One column cannot be two of them: choose another.');
  await keyboard.press('ArrowUp');
  await card.says('What will be added');
  assert.deepEqual(sent, ['2,1'], 'one column for two fields is not sent');
  assert.equal(
    await page.evaluate('document.activeElement.labels[0].firstChild.data'),
    'Category',
    'the focus stays',
  );
  assert.deepEqual(await card.faults(), []);
  for (let tab = 0; tab < 3; tab += 1) await keyboard.press('Tab');
  await keyboard.press('Enter');
  await card.says('2 animals were added.');
  assert.deepEqual(await names(stage), ['Rex', 'Tom']);
});

test('console › the columns that were chosen hold for one list only', async (t) => {
  const { card } = await open(t);
  await card.paste('7;Rex\n');
  await card.card.getByLabel('Name', { exact: true }).selectOption('2');
  await card.card.getByLabel('Category', { exact: true }).selectOption('1');
  await card.says('Add 1 animal');
  await card.paste('name;category\nTom;8\nAda;1\n');
  await card.says('Add 2 animals');
});

test('console › a file that is not UTF-8 is added once its encoding is named, and one that is no list is refused', async (t) => {
  const { card, stage } = await open(t);
  await card.choose('tiere.csv', Buffer.from('name;category\nL\u00f6we;7\n', 'latin1'));
  await card.says('This file is not UTF-8.');
  assert.equal(await card.card.locator('.notice').count(), 1, 'and nothing else is said of it');
  assert.equal(await card.text.inputValue(), '');
  await card.press('Read it as Windows-1252');
  await card.says('Read as Windows-1252. Check the names.');
  await card.press('Add 1 animal');
  await card.says('1 animal was added.');
  assert.deepEqual(await names(stage), ['Löwe']);
  for (const empty of ['', 'name,category\n']) {
    await card.choose('empty.csv', Buffer.from(empty));
    await card.says('There is no animal in this list.');
  }
  await card.choose('animals.xlsx', Buffer.from('PK\u0003\u0004'));
  await card.card.getByRole('alert').getByText('This is an Excel file').waitFor();
  await card.choose('long.csv', Buffer.from(listOf(linesOf('x', 5_001))));
  await card.says('The list has over 5,000 lines');
  await card.choose('long.csv', Buffer.alloc(2 ** 20 + 1, 'x'));
  await card.says('This list is too long for a page');
  await card.paste('name,category\nAda,1\n');
  await card.says('Add 1 animal');
  await card.press('Close');
  assert.equal(await card.card.isVisible(), false);
  await ListCard.open(card.page);
  assert.equal(await card.text.inputValue(), '');
  assert.deepEqual(await card.buttons(), []);
});

test('console › a file that is dropped while a text is read takes its place', async (t) => {
  const { card } = await open(t);
  await card.page.evaluate(
    `((text) => {
      text.value = 'name,category\\nAda,1\\n';
      text.dispatchEvent(new Event('input'));
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([new Uint8Array([0x4c, 0xf6])], 'animals.csv'));
      dispatchEvent(new DragEvent('drop', { dataTransfer, cancelable: true }));
    })(document.querySelector('#many-text'))`,
  );
  await card.says('This file is not UTF-8.');
  await sleep(READ_MS);
  const notice = card.card.getByText('This file is not UTF-8.');
  assert.ok(await notice.isVisible(), 'and it stays');
});

test('console › a file is dropped on the page; a key that is refused meanwhile leaves the list as it is', async (t) => {
  const stage = await Stage.open(t);
  const key = await stage.newKey('pets:write');
  const { page } = await visit(t, stage, { key });
  await page.getByText('This key only adds animals').waitFor();
  await page.evaluate(
    `(() => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File(['name,category\\nAda,1\\n'], 'animals.csv'));
      dispatchEvent(new DragEvent('drop', { dataTransfer, cancelable: true }));
    })()`,
  );
  const card = await ListCard.open(page);
  await card.says('Add 1 animal');
  const body = JSON.stringify({ code: 'invalid_api_key', message: 'No.', status: 401 });
  const refusal = { status: 401, contentType: 'application/json', body };
  await page.route('**/console/import?*', (route) => route.fulfill(refusal), { times: 1 });
  await card.press('Add 1 animal');
  await page.locator('#key-fault', { hasText: 'This key does not open' }).waitFor();
  await signIn(page, stage.key);
  await card.press('Add 1 animal');
  await card.says('1 animal was added.');
  assert.deepEqual(await names(stage), ['Ada']);
});

test('console › a file that is chosen directly after typing is what is judged', async (t) => {
  const { page } = (await open(t)).card;
  // In one turn, as fast as the page can be.
  await page.evaluate(`(() => {
    const text = document.getElementById('many-text');
    text.value = 'name,categoryId\\nTyped,1';
    text.dispatchEvent(new Event('input'));
    const chosen = new DataTransfer();
    chosen.items.add(new File(['PK\\u0003\\u0004'], 'list.xlsx'));
    const file = document.querySelector('#many input[type=file]');
    file.files = chosen.files;
    file.dispatchEvent(new Event('change'));
  })()`);
  const words = page.getByText('This is an Excel file');
  await words.waitFor();
  await sleep(READ_MS);
  assert.equal(await words.isVisible(), true);
});
