import type { PetStatus } from '../../../../sdk/src/index.ts';
import { button, element } from './dom.ts';
import { ENVIRONMENT } from './environment.ts';

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

/** In two parts, so that a narrow screen breaks the command between them. */
function importCommand(): HTMLElement {
  const command = element('code', {}, element('span', {}, 'petstore import animals.csv'));
  if (ENVIRONMENT === 'staging') command.append(' ', element('span', {}, '--env staging'));
  return command;
}
