// What all drills have in common. A drill breaks the service, or its surroundings, on purpose, and checks that
// every promise still holds. `drills/main.ts` runs them, `drills/drills.ts` lists them.

/** One drill. `npm run drill` and docs/reliability.md show its texts. */
export interface Drill {
  /** What must hold, in one sentence. */
  readonly promise: string;
  /** How it is tested. */
  readonly method: string;
  /** What `--rounds` counts, such as "rounds" or "requests", and how many there are by default. */
  readonly unit: string;
  readonly rounds: number;
  /** The rounds of `--quick`, and of the control. A few seconds. */
  readonly quickRounds: number;
  /** It takes long, so it runs only if it is named. */
  readonly isNamedOnly?: boolean;
  /** What it needs and this machine lacks, as harness/needs.ts says it, or false. The drill is then skipped. */
  readonly findMissing?: () => string | false;
  readonly run: RunDrill;
  /** The same drill on a variant that is broken on purpose. */
  readonly control: {
    readonly brokenBy: string;
    /** What it must find: each of these texts must be part of a violation. */
    readonly finds: readonly string[];
    readonly run: RunDrill;
  };
}

export type RunDrill = (options: DrillOptions) => Promise<DrillReport>;

export interface DrillOptions {
  rounds: number;
  /** Everything that is chosen at random follows from it. */
  seed: number;
  /** Only what has changed in so many commits is tried, where the drill knows what that is. */
  commits?: number | undefined;
  onProgress: (text: string) => void;
}

export interface DrillReport {
  /** How many checks held. */
  passed: number;
  /** One sentence per check that did not hold. */
  violations: readonly string[];
  /** Figures in the order in which they are shown. */
  figures: Readonly<Record<string, string | number>>;
}
