import type { Pet } from '../../../../sdk/src/index.ts';
import { openPet } from './animal.ts';
import { byId, element } from './dom.ts';
import { Download } from './download.ts';
import { explain, type Fault } from './fault.ts';
import { Lookup } from './lookup.ts';
import type { ManyCard } from './many.ts';
import { faultNotice } from './notice.ts';
import { parseInt64 } from './pet.ts';
import type { Session } from './session.ts';

/** What the console loads after its first view. */
export interface Parts {
  lookup: Lookup;
  /** The card for many at once. Few visits need it, so it is loaded when it is opened. */
  many: () => Promise<ManyCard>;
  download: Download;
  openPet: (pet: Pet) => void;
  /** Opens the animal whose id an address has. */
  openLinked: (id: string) => Promise<void>;
}

export async function newParts(
  session: Session,
  on: {
    keyNeeded: (fault?: Fault) => void;
    forbidden: (fault: Fault) => void;
    added: (pet: Pet, words: string) => void;
    ended: () => void;
  },
): Promise<Parts> {
  await loadStyles();
  const lookup = new Lookup(session, { keyNeeded: on.keyNeeded, open: openPet });
  lookup.listen();
  let many: Promise<ManyCard> | undefined;
  return {
    lookup,
    many: () => (many ??= import('./many.ts').then(({ ManyCard: Card }) => new Card(session, on))),
    download: new Download(session, on),
    openPet,
    openLinked: (id) => openLinked(id, session, on.keyNeeded),
  };
}

async function openLinked(
  text: string,
  session: Session,
  askForKey: (fault?: Fault) => void,
): Promise<void> {
  const message = byId('page-message', HTMLElement);
  message.replaceChildren();
  const id = parseInt64(text);
  if (id === undefined) {
    const words = 'This link leads to no animal: an id is a whole number, such as 7.';
    message.append(element('p', { class: 'notice fault', role: 'alert' }, words));
    return;
  }
  try {
    openPet(await session.pets.get(id));
  } catch (error) {
    const fault = explain(error);
    if (fault.isKeyRefused) return askForKey(fault);
    const retry = (): void => void openLinked(text, session, askForKey);
    message.append(faultNotice(fault, { retry, canCountDown: false }));
  }
}

function loadStyles(): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const href = new URL('parts.css', import.meta.url).href;
  const link = element('link', { rel: 'stylesheet', href });
  link.addEventListener('load', () => resolve());
  link.addEventListener('error', () => reject(new Error('The style sheet did not load.')));
  document.head.append(link);
  return promise;
}
