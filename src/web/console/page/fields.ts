import { PET_STATUSES } from '../../../../sdk/src/index.ts';
import { isBlank } from '../../../domain/typed-pet.ts';

const NAME_CODE_POINTS_MAX = 255;
/** In a character class of a Unicode pattern, a surrogate matches only a lone surrogate. */
const LONE_SURROGATE = /[\uD800-\uDFFF]/u;

/** The text without accents and case, so that "bélla" finds "Bella". */
export function fold(text: string): string {
  return text.trim().normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();
}

/** A count as people read it: 12,345. Ids and categories are not grouped, because people copy them. */
export function grouped(count: number): string {
  return count.toLocaleString('en');
}

/** The fields of an animal. A message of the service names them. */
export const FIELDS = ['name', 'categoryId', 'status'] as const;
export type Field = (typeof FIELDS)[number];

/** What is wrong with the value of a field, in words for people; undefined if nothing is. */
export const FIELD_WORDS: Record<Field, (value: unknown) => string | undefined> = {
  name: nameWords,
  categoryId: (value) => {
    if (typeof value === 'bigint' && BigInt.asIntN(64, value) === value) return undefined;
    if (value === '' || value === undefined) return 'Enter a category, such as 7.';
    return isWholeNumber(value)
      ? 'The category is a whole number from -9223372036854775808 to 9223372036854775807.'
      : 'The category is a whole number, such as 7.';
  },
  status: (value) =>
    value === undefined || PET_STATUSES.some((status) => status === value)
      ? undefined
      : 'The status is available, pending or sold.',
};

function nameWords(value: unknown): string | undefined {
  if (value === undefined) return 'Enter a name.';
  if (typeof value !== 'string') return 'The name is a text.';
  if (isBlank(value)) return 'Enter a name.';
  const length = Array.from(value).length;
  if (length > NAME_CODE_POINTS_MAX) {
    return `The name has ${grouped(length)} characters; at most ${NAME_CODE_POINTS_MAX} fit.`;
  }
  return value.includes('\0') || LONE_SURROGATE.test(value)
    ? 'The name has a character that cannot be stored.'
    : undefined;
}

function isWholeNumber(value: unknown): boolean {
  return typeof value === 'bigint' || /^-?\d+$/.test(String(value));
}

/**
 * Splits the error message of a create by field. Each sentence begins with the name of its field; a
 * sentence that does not is shown with the whole form.
 */
export function splitByField(message: string): Partial<Record<Field | 'form', string>> {
  const parts: Partial<Record<Field | 'form', string>> = {};
  for (const sentence of message.split(/(?<=\.)\s+(?=(?:name|categoryId|status)\s)/)) {
    const field = FIELDS.find((each) => sentence.startsWith(`${each} `)) ?? 'form';
    parts[field] = parts[field] === undefined ? sentence : `${parts[field]} ${sentence}`;
  }
  return parts;
}
