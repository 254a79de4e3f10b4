import type { Clause } from '../clause.ts';
import { expectError } from '../expect.ts';

/** Bodies that must be refused. `NAME` and `CATEGORY` stand for values by which a stored animal would be found. */
interface InvalidBody {
  id: string;
  what: string;
  bodies: string[];
}

const TABLE: InvalidBody[] = [
  { id: 'name.missing', what: 'lacks name', bodies: ['{"categoryId":CATEGORY}'] },
  { id: 'categoryId.missing', what: 'lacks categoryId', bodies: ['{"name":NAME}'] },
  {
    id: 'name.invalid',
    what: 'holds a name that is not a string',
    bodies: ['7', 'null', 'true', '["Rex"]'].map(
      (name) => `{"name":${name},"categoryId":CATEGORY}`,
    ),
  },
  {
    id: 'categoryId.type',
    what: 'holds a categoryId that is not an integer',
    bodies: ['"7"', 'null', 'true', '1.5', '{}'].map((id) => `{"name":NAME,"categoryId":${id}}`),
  },
  {
    id: 'categoryId.range',
    what: 'holds a categoryId outside int64',
    bodies: ['9223372036854775808', '-9223372036854775809', '1e30'].map(
      (id) => `{"name":NAME,"categoryId":${id}}`,
    ),
  },
  {
    id: 'status.type',
    what: 'holds a status that is not a string',
    bodies: ['1', 'false', '["sold"]'].map(
      (status) => `{"name":NAME,"categoryId":CATEGORY,"status":${status}}`,
    ),
  },
  {
    id: 'object',
    what: 'is JSON but not an object',
    bodies: ['[]', 'null', 'NAME', '[{"name":NAME,"categoryId":CATEGORY}]'],
  },
  {
    id: 'json',
    what: 'is not JSON',
    bodies: ['{"name":NAME,"categoryId":CATEGORY', "{name:'Rex',categoryId:CATEGORY}", 'name=Rex'],
  },
];

export const INVALID_BODIES: Clause[] = TABLE.map(({ id, what, bodies }) => ({
  kind: 'service',
  id: `Errors.400.${id}`,
  section: 'Errors',
  sentence: `400, POST /pets: the request body ${what}.`,
  writes: true,
  check: async (service) => {
    const name = JSON.stringify(service.nameOf(`unwanted: body ${what}`));
    const categoryId = String(service.subject.unwantedCategoryId);
    for (const body of bodies) {
      const filled = body.replaceAll('NAME', name).replaceAll('CATEGORY', categoryId);
      expectError(await service.create(filled), 400);
    }
  },
}));
