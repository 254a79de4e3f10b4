import { newIdempotencyKey } from '../../../../sdk/src/client.ts';
import { button, element } from './dom.ts';
import { counted, grouped } from './fields.ts';
import type { Added, AddOptions, FaultyLine, Preview } from './many-list.ts';
import { petName, statusChip } from './pet.ts';

export interface PreviewEvents {
  add: (options: AddOptions) => void;
  /** Shows the faulty line in the text. */
  show: (fault: FaultyLine) => void;
}

/** What would be added, which lines have faults, and what a person can do about it. */
export function previewView(preview: Preview, on: PreviewEvents): HTMLElement[] {
  const { layout, animals, faultCount, addedBefore } = preview;
  const isEmpty = animals + faultCount === 0;
  const words = isEmpty
    ? 'There is no animal in this list.'
    : layout.replaceAll(/"(.*?)"/g, '“$1”');
  return [
    element('p', { role: 'status' }, words),
    ...(addedBefore === undefined ? [] : [addedBeforeNotice(addedBefore)]),
    ...(faultCount > 0 ? [faultyNotice(preview, on)] : []),
    ...(animals > 0 && addedBefore === undefined ? [animalsTable(preview)] : []),
    element('div', { class: 'actions' }, ...actions(preview, on)),
  ];
}

function actions({ animals, faultCount, addedBefore }: Preview, on: PreviewEvents): HTMLElement[] {
  if (animals === 0) return [];
  const isSkipping = faultCount > 0;
  if (addedBefore === undefined) {
    const words = isSkipping
      ? `Add the ${counted(animals)} without a fault`
      : `Add ${counted(animals)}`;
    return [button(words, () => on.add({ isSkipping }), 'primary')];
  }
  const again = newIdempotencyKey();
  return [
    // Adds nothing, and returns the faulty lines.
    ...(isSkipping ? [button('Keep only the faulty lines', () => on.add({ isSkipping }))] : []),
    button(`Add ${counted(animals)} again`, () => on.add({ isSkipping, again })),
  ];
}

function addedBeforeNotice({ animals, skipped }: Added): HTMLElement {
  const left = skipped === 0 ? '' : ` Lines left out for a fault: ${grouped(skipped)}.`;
  const words = `${counted(animals)} of it ${animals === 1 ? 'was' : 'were'} added.${left}`;
  return element(
    'div',
    { class: 'notice', role: 'status' },
    element('p', { class: 'title' }, 'This list was added before'),
    element('p', {}, `${words} Nothing is added twice by accident.`),
  );
}

function faultyNotice(preview: Preview, on: PreviewEvents): HTMLElement {
  const { unit, animals, faults, faultCount } = preview;
  const lines = faultCount === 1 ? `1 ${unit} has` : `${grouped(faultCount)} ${unit}s have`;
  const what =
    animals === 0 ? 'Nothing can be added.' : 'Correct them above, or add the others alone.';
  const items = faults.map((fault) => {
    const words = unit === 'item' ? `Item ${fault.line}` : `Line ${fault.line}`;
    const name =
      unit === 'item' ? element('b', {}, words) : button(words, () => on.show(fault), 'line');
    return element('li', {}, name, ` ${fault.reason}`);
  });
  return element(
    'div',
    { class: 'notice fault' },
    element(
      'div',
      { role: 'status' },
      element('p', { class: 'title' }, `${lines} a fault`),
      element('p', {}, what),
    ),
    element('ul', { class: 'faults' }, ...items),
    andMore(faultCount - faults.length),
  );
}

function animalsTable({ animals, first }: Preview): HTMLElement {
  const rows = first.map(({ name, categoryId, status }) =>
    element(
      'tr',
      {},
      element('td', {}, petName(name)),
      element('td', { class: 'category' }, categoryId),
      element('td', { class: 'of-status' }, statusChip(status)),
    ),
  );
  const kinds = { Name: '', Category: 'category', Status: 'of-status' };
  const heads = Object.entries(kinds).map(([name, kind]) =>
    element('th', { scope: 'col', class: kind }, name),
  );
  const table = element(
    'table',
    {},
    element('caption', {}, 'What will be added'),
    element('thead', {}, element('tr', {}, ...heads)),
    element('tbody', {}, ...rows),
  );
  return element('div', {}, table, andMore(animals - first.length));
}

function andMore(rest: number): HTMLElement {
  return element('p', { class: 'small' }, rest > 0 ? `and ${grouped(rest)} more` : '');
}
