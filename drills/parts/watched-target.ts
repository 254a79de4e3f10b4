import type { OpenTarget, Target } from '../postgres/target.ts';

/** When creates were acknowledged, in milliseconds. */
export class Acknowledgements {
  readonly #times: number[] = [];

  add(): void {
    this.#times.push(performance.now());
  }

  /** The longest time without an acknowledged create from `sinceMs` on, and the time since the last one. */
  longestGapMs(sinceMs: number): number {
    const times = this.#times.filter((time) => time >= sinceMs);
    const gaps = [...times, performance.now()].map((time, index) =>
      Math.round(time - (times[index - 1] ?? sinceMs)),
    );
    return Math.max(...gaps);
  }
}

/** Opens a target and notes every acknowledged create. */
export async function openWatched(
  openTarget: OpenTarget,
  url: string,
): Promise<{ target: Target; acknowledgements: Acknowledgements }> {
  const target = await openTarget(url);
  const acknowledgements = new Acknowledgements();
  const catalogue: Target['catalogue'] = {
    ...target.catalogue,
    async createPet(pet, claim) {
      const creation = await target.catalogue.createPet(pet, claim);
      acknowledgements.add();
      return creation;
    },
  };
  return { target: { ...target, catalogue }, acknowledgements };
}
