import type { PetStatus } from '../../../../sdk/src/index.ts';
import { button, byId, element } from './dom.ts';
import { ENVIRONMENT } from './environment.ts';

/** What stands in place of the rows: how to begin, or that the filter leaves out every animal. */
export function emptyMessage(
  status: PetStatus | undefined,
  on: { addMany: () => void; showAll: () => void },
): HTMLElement {
  const message = element('div', { class: 'empty' });
  if (status !== undefined) {
    message.append(
      element('p', { class: 'title' }, `No animal is ${status}`),
      element('p', {}, 'Animals with another status are left out by the filter.'),
      button('Show all', on.showAll),
    );
    return message;
  }
  message.append(
    element('p', { class: 'title' }, 'No animals yet'),
    element('p', { class: 'writes' }, 'There are three ways to begin.'),
    element(
      'ul',
      { class: 'ways writes' },
      element(
        'li',
        {},
        button('Add an animal', () => byId('name', HTMLInputElement).focus(), 'primary'),
        element('span', {}, 'One at a time, with the form.'),
      ),
      element(
        'li',
        {},
        button('Add many at once', on.addMany),
        element('span', {}, 'Paste the cells of a spreadsheet, or drop a file.'),
      ),
      element(
        'li',
        {},
        importCommand(),
        element('span', {}, 'On the machine of the service, for large files.'),
      ),
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
