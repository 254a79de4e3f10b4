import { byId } from './dom.ts';
import { explain, type Fault } from './fault.ts';

export interface Reader {
  /** The id of the button, and what it says while it reads. */
  id: string;
  stop: string;
  /** What did not happen if it was stopped or has failed. */
  nothing: string;
  keyNeeded: (fault?: Fault) => void;
  /** Reads the list, says how far it is, and returns what to say at the end. */
  run: (signal: AbortSignal, say: (words: string) => void) => Promise<string>;
}

/** Makes a button that reads all pages of the list. A second press stops it. */
export function readOnPress({ id, stop, nothing, keyNeeded, run }: Reader): void {
  const press = byId(id, HTMLButtonElement);
  const label = press.textContent;
  const told = byId('list-told', HTMLElement);
  const say = (words: string): void => void (told.textContent = words);
  let running: AbortController | undefined;
  const read = async (): Promise<void> => {
    const { signal } = (running = new AbortController());
    press.textContent = stop;
    say('Reading the catalogue …');
    try {
      say(await run(signal, say));
    } catch (error) {
      const fault = explain(error);
      say(`${signal.aborted ? 'Stopped' : fault.title}. ${nothing}`);
      if (fault.isKeyRefused) keyNeeded(fault);
    }
    running = undefined;
    press.textContent = label;
  };
  press.addEventListener('click', () => {
    if (running === undefined) void read();
    else running.abort();
  });
}
