/** What the check found about one clause at one address. */
export type Verdict =
  | { kind: 'kept' }
  | { kind: 'broken'; request: string; answer: string; expected: string }
  | { kind: 'not-checkable'; why: string };

/** The request and the answer that a clause was judged by, in words. */
export interface Evidence {
  request: string;
  answer: string;
}

/** Thrown by a clause when the service does something else than the specification says. */
export class Broken extends Error {
  readonly evidence: Evidence;
  readonly expected: string;

  constructor({ request, answer }: Evidence, expected: string) {
    super(`${request} was answered with ${answer}; expected: ${expected}`);
    this.name = 'Broken';
    this.evidence = { request, answer };
    this.expected = expected;
  }
}

/** Thrown when a request got no answer at all. */
export class NoAnswer extends Broken {
  constructor(request: string, reason: string) {
    super({ request, answer: reason }, 'an answer');
    this.name = 'NoAnswer';
  }
}

/** Thrown by a clause when nothing can be told about it from outside, here and now. */
export class NotCheckable extends Error {
  constructor(why: string) {
    super(why);
    this.name = 'NotCheckable';
  }
}

/** A clause that returns is kept. Any other fault is one of the check itself and must be seen. */
export async function verdictOf(check: () => Promise<void> | void): Promise<Verdict> {
  try {
    await check();
    return { kind: 'kept' };
  } catch (error) {
    if (error instanceof Broken) {
      return { kind: 'broken', ...error.evidence, expected: error.expected };
    }
    if (error instanceof NotCheckable) return { kind: 'not-checkable', why: error.message };
    throw error;
  }
}
