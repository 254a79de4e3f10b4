import { PETS_COUNTED_MAX } from '../domain/store.ts';
import { gauge, type Figure } from '../ops/metrics.ts';

/** The number of animals or, if there are too many to count, the number of ids that may be in use. For both stores. */
export const PET_COUNT_SQL = `
  SELECT CASE
    WHEN counted <= ${PETS_COUNTED_MAX} THEN counted
    ELSE (SELECT max(id) FROM pets) - (SELECT min(id) FROM pets) + 1
  END
  FROM (SELECT count(*) AS counted FROM (SELECT 1 FROM pets LIMIT ${PETS_COUNTED_MAX + 1}) AS first) AS firsts`;

export function petCountFigure(count: number): Figure {
  const help = `Animals in the catalogue; over ${PETS_COUNTED_MAX} also the ids of removed ones.`;
  return gauge('petstore_pets', help, count);
}
