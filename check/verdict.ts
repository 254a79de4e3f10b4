/** What the check found about one clause at one address. */
export type Verdict =
  | { kind: 'kept' }
  | { kind: 'broken'; request: string; response: string; expected: string }
  | { kind: 'not-checkable'; why: string };

/** The request and the response that a clause was judged by, as text. */
export interface Evidence {
  request: string;
  response: string;
}

/** Thrown by a clause if the service does not do what the specification states. */
export class Broken extends Error {
  readonly evidence: Evidence;
  readonly expected: string;

  constructor({ request, response }: Evidence, expected: string) {
    super(`${request}: the response was ${response}; expected: ${expected}`);
    this.name = 'Broken';
    this.evidence = { request, response };
    this.expected = expected;
  }
}

/** Thrown if a request got no response at all. */
export class NoResponse extends Broken {
  constructor(request: string, reason: string) {
    super({ request, response: reason }, 'a response');
    this.name = 'NoResponse';
  }
}

/** Thrown by a clause that cannot be judged by requests, or not at this time. */
export class NotCheckable extends Error {
  constructor(why: string) {
    super(why);
    this.name = 'NotCheckable';
  }
}

/** A clause that returns is kept. An error other than these two is a fault of the check, and is rethrown. */
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
