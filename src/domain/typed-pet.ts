// What people type, in the console and in tables, and what is said to them about it.

const NAME_CODE_POINTS_MAX = 255;
const STATUSES = ['available', 'pending', 'sold'];

/** Space, control characters, and characters without a shape such as U+200B. U+2800 has an empty one. */
const INVISIBLE = /^[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]*$/u;

/** Whether the name has no visible character. */
export function isBlank(name: string): boolean {
  return INVISIBLE.test(name);
}

/** The name without the space around it. Tabs that keep a spreadsheet from running the name are part of it. */
export function trimName(name: string): string {
  const [tabs = ''] = /^\t+(?=[=+@-])/.exec(name) ?? [];
  return tabs + name.trim();
}

/** An animal as somebody typed it: a category is a text if it is no int64. */
export interface TypedPet {
  name: string;
  categoryId: bigint | string;
  status?: string | undefined;
}

/** A message of the service names them. */
export const FIELDS = ['name', 'categoryId', 'status'] as const;
export type Field = (typeof FIELDS)[number];

/** What is wrong with each field, in words for people. */
export function typingFaults({ name, categoryId, status }: TypedPet) {
  return {
    name: nameFault(name),
    categoryId: typeof categoryId === 'string' ? categoryFault(categoryId) : undefined,
    status:
      status === undefined || STATUSES.includes(status)
        ? undefined
        : 'The status is available, pending or sold.',
  };
}

function nameFault(name: string): string | undefined {
  if (isBlank(name)) return 'Enter a name.';
  const length = Array.from(name).length;
  if (length > NAME_CODE_POINTS_MAX) {
    return `The name has ${length.toLocaleString('en')} characters; at most ${NAME_CODE_POINTS_MAX} fit.`;
  }
  return name.includes('\0') || !name.isWellFormed()
    ? 'The name has a character that cannot be stored.'
    : undefined;
}

function categoryFault(text: string): string {
  if (text === '') return 'Enter a category, such as 7.';
  return /^-?\d+$/.test(text)
    ? 'The category is a whole number from -9223372036854775808 to 9223372036854775807.'
    : 'The category is a whole number, such as 7.';
}
