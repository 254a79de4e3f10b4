import type { PetStatus } from '../../../../sdk/src/index.ts';
import { button, element } from './dom.ts';
import { ENVIRONMENT } from './environment.ts';
import { petName } from './pet.ts';

/** What an empty list shows in place of rows: how to begin, or that no animal has the status. */
export function emptyMessage(
  status: PetStatus | undefined,
  on: { addMany: () => void; showAll: () => void },
): HTMLElement {
  const message = element('div', { class: 'empty' });
  if (status !== undefined) {
    message.append(
      element('p', { class: 'title' }, `No animal is ${status}`),
      element('p', {}, `Only ${status} animals are shown.`),
      button('Show all', on.showAll),
    );
    return message;
  }
  message.append(
    element('p', { class: 'title' }, 'No animals yet'),
    element(
      'div',
      { class: 'invitation writes' },
      button('Paste cells from a spreadsheet', on.addMany, 'primary'),
      element('p', {}, 'Or add one with the form, or drop a file on this page.'),
      element('p', { class: 'small' }, 'For a large file, on the machine of the service:'),
      importCommand(),
    ),
  );
  return message;
}

/** What a search without a result shows. */
export function nothingFound(
  text: string,
  status: PetStatus | undefined,
  showAll: () => void,
): HTMLElement {
  return element(
    'div',
    { class: 'empty' },
    element('p', { class: 'title' }, 'No animal is called ', petName(text)),
    element(
      'p',
      {},
      status === undefined
        ? 'Any part of a name is enough.'
        : `Only ${status} animals were searched.`,
    ),
    button('Show the list', showAll),
  );
}

/** In two parts, so that a narrow screen breaks the command between them. */
function importCommand(): HTMLElement {
  const command = element('code', {}, element('span', {}, 'petstore import animals.csv'));
  if (ENVIRONMENT === 'staging') command.append(' ', element('span', {}, '--env staging'));
  return command;
}
