import type { Clause } from '../clause.ts';
import type { Exchange } from '../client.ts';
import { expectThat } from '../expect.ts';
import type { ServiceUnderCheck } from '../service-under-check.ts';
import { ERROR_FIELDS, findFieldFault, isRecord } from '../shapes.ts';
import { NotCheckable } from '../verdict.ts';

export const ERROR_BODY: Clause[] = [
  fieldOfEveryError('code', 'Error.code: string, required.'),
  fieldOfEveryError('message', 'Error.message: string, required.'),
  fieldOfEveryError('status', 'Error.status: integer, required.'),
  {
    kind: 'service',
    id: 'Error.fields',
    section: 'Resources and their fields',
    sentence: 'The Error body has these three fields and no other.',
    writes: false,
    afterwards: true,
    check: (service) => {
      for (const exchange of errorsOf(service)) {
        const fields = isRecord(exchange.body) ? Object.keys(exchange.body) : [];
        const others = fields.filter((field) => !Object.hasOwn(ERROR_FIELDS, field));
        expectThat(others.length === 0, exchange, 'an Error body of code, message and status only');
      }
    },
  },
];

function fieldOfEveryError(field: keyof typeof ERROR_FIELDS, sentence: string): Clause {
  return {
    kind: 'service',
    id: `Error.${field}`,
    section: 'Resources and their fields',
    sentence,
    writes: false,
    afterwards: true,
    check: (service) => {
      for (const exchange of errorsOf(service)) {
        const fault = findFieldFault(exchange.body, ERROR_FIELDS[field]);
        expectThat(fault === undefined, exchange, `an Error body; ${fault}`);
      }
    },
  };
}

/** Every error response of this run, whichever clause caused it. */
export function errorsOf({ client }: ServiceUnderCheck): Exchange[] {
  const errors = client.exchanges.filter(({ status }) => status >= 400);
  if (errors.length === 0) throw new NotCheckable('the service sent no error response');
  return errors;
}
