export interface ChangesReport {
  commands: number;
  animalsChanged: number;
  creates: number;
  repeatedCreates: number;
  /** Reads of an animal that no command was changing: each had one right response. */
  checkedReads: number;
  walks: number;
  /** Responses with 503, after which the request was sent again: the machine was too busy. */
  refused: number;
  violations: string[];
}

export function newChangesReport(): ChangesReport {
  return {
    commands: 0,
    animalsChanged: 0,
    creates: 0,
    repeatedCreates: 0,
    checkedReads: 0,
    walks: 0,
    refused: 0,
    violations: [],
  };
}
