import { byId } from '../../console/page/dom.ts';
import { offerCopies } from './clipboard.ts';
import { KeyPanel } from './key.ts';
import { followLanguage } from './languages.ts';
import { offerSearch } from './search.ts';
import { fillSite } from './site.ts';
import { offerTries } from './try.ts';

// Sentences about features that need scripts.
for (const each of document.querySelectorAll<HTMLElement>('.with-script')) each.hidden = false;

fillSite();
const keyPanel = new KeyPanel();
keyPanel.open();
followLanguage();
offerCopies();
offerSearch();
offerTries(keyPanel);

// The contents cover a narrow screen, and a link to this page would leave them open.
const contents = byId('contents', HTMLElement);
contents.addEventListener('click', (event) => {
  const isLink = event.target instanceof HTMLAnchorElement;
  if (isLink && contents.matches(':popover-open')) contents.hidePopover();
});
