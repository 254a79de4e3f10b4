import { parseJson } from '../../../../sdk/src/json.ts';
import { Refusal } from '../../../domain/errors.ts';
import type { PetRules } from '../../../pet-file/read-pet.ts';
import type { NewPet } from '../../../domain/pet.ts';
import { trimName } from '../../../domain/typed-name.ts';
import { FIELD_WORDS, FIELDS } from './fields.ts';

/**
 * The rules of the service, in words for people. A test compares their results with those of the service. Space
 * around a name is removed, and a name without a visible character is refused.
 */
export const PAGE_RULES: PetRules = {
  parseJson: (text) => {
    try {
      return parseJson(text);
    } catch (cause) {
      throw new Refusal('invalid_json', 'The line is not JSON. Write one JSON object per line.', {
        cause,
      });
    }
  },

  newPet: (fields) => {
    if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) {
      throw new Refusal('invalid_json', 'The line is not one JSON object.');
    }
    const { name } = fields as Record<string, unknown>;
    const trimmed = typeof name === 'string' ? { name: trimName(name) } : {};
    const given: Record<string, unknown> = { ...fields, ...trimmed };
    const words = FIELDS.flatMap((field) => FIELD_WORDS[field](given[field]) ?? []);
    if (words.length > 0) throw new Refusal('invalid_field', words.join(' '));
    return { status: 'available', ...given } as NewPet;
  },
};
