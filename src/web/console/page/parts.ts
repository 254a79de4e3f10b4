import type { Pet } from '../../../../sdk/src/index.ts';
import { openPet } from './animal.ts';
import { element } from './dom.ts';
import type { Fault } from './fault.ts';
import { Lookup } from './lookup.ts';
import { ManyCard } from './many.ts';
import type { Session } from './session.ts';

/** What the console loads after its first view. */
export interface Parts {
  lookup: Lookup;
  many: ManyCard;
  openPet: (pet: Pet) => void;
}

export async function newParts(
  session: Session,
  on: {
    keyNeeded: (fault?: Fault) => void;
    forbidden: (fault: Fault) => void;
    added: (pet: Pet) => void;
    ended: () => void;
  },
): Promise<Parts> {
  await loadStyles();
  const lookup = new Lookup(session, { keyNeeded: on.keyNeeded, open: openPet });
  lookup.listen();
  return { lookup, many: new ManyCard(session, on), openPet };
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
