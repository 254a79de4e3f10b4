// Finds where a text stops being JSON, and what would be right there. JSON.parse promises no position, and its
// messages repeat the text. This runs only after JSON.parse has failed.

export interface JsonFault {
  /** Both count from 1. The column counts characters. */
  line: number;
  column: number;
  /** Repeats nothing of the text. */
  remedy: string;
}

/** What must follow. At the start of an object or an array, the closing bracket may follow too. */
type Expected = 'value' | 'item' | 'first item' | 'name' | 'first name' | 'colon' | 'comma' | 'end';

const SPACE = /[\t\n\r ]*/y;
/** A string without its closing quote. The class excludes control characters, quotes and backslashes. */
const OPEN_STRING = /"[ !#-[\]-\uffff]*(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})[ !#-[\]-\uffff]*)*/y;
const TOKEN = new RegExp(
  `[{}[\\]:,]|${OPEN_STRING.source}"|-?(?:0|[1-9]\\d*)(?:\\.\\d+)?(?:[eE][+-]?\\d+)?|true|false|null`,
  'y',
);
const FORM = /[\w.%+~[\]-]+=/y;

/** Returns undefined for a text that is JSON. */
export function findJsonFault(text: string): JsonFault | undefined {
  /** The closing brackets that are still missing. */
  const closing: string[] = [];
  let expected: Expected = 'value';
  for (let offset = matchAt(SPACE, text, 0); ; offset = matchAt(SPACE, text, offset)) {
    const end = matchAt(TOKEN, text, offset);
    const next: Expected | undefined =
      end === offset ? undefined : expectedAfter(text[offset], expected, closing);
    if (next === undefined) {
      if (expected === 'end' && offset === text.length) return undefined;
      return faultAt(text, offset, { expected, closing });
    }
    expected = next;
    offset = end;
  }
}

/** Returns the offset after the match, which begins at the offset. Without a match it is the same. */
function matchAt(pattern: RegExp, text: string, offset: number): number {
  pattern.lastIndex = offset;
  return pattern.test(text) ? pattern.lastIndex : offset;
}

/** Returns what must follow the token, or undefined if the token was not expected. Updates `closing`. */
function expectedAfter(
  first: string | undefined,
  expected: Expected,
  closing: string[],
): Expected | undefined {
  if (expected === 'colon') return first === ':' ? 'value' : undefined;
  if (expected === 'comma' && first === ',') return closing.at(-1) === '}' ? 'name' : 'item';
  if (expected === 'comma' || expected.startsWith('first ')) {
    if (first === closing.at(-1)) {
      closing.pop();
      return closing.length === 0 ? 'end' : 'comma';
    }
    if (expected === 'comma') return undefined;
  }
  if (expected.endsWith('name')) return first === '"' ? 'colon' : undefined;
  if (expected === 'end' || first === undefined || '}]:,'.includes(first)) return undefined;
  if (first === '{' || first === '[') {
    closing.push(first === '{' ? '}' : ']');
    return first === '{' ? 'first name' : 'first item';
  }
  return closing.length === 0 ? 'end' : 'comma';
}

interface Place {
  expected: Expected;
  closing: readonly string[];
}

function faultAt(text: string, start: number, place: Place): JsonFault {
  // A string that is not closed, or contains a forbidden character, fails after its opening quote.
  const offset = canBeString(place.expected) ? matchAt(OPEN_STRING, text, start) : start;
  const lines = text.slice(0, offset).split(/\r\n|[\n\r]/);
  return {
    line: lines.length,
    column: Array.from(lines.at(-1) ?? '').length + 1,
    remedy: offset > start ? remedyInString(text[offset]) : remedyOf(text, offset, place),
  };
}

function canBeString(expected: Expected): boolean {
  return expected !== 'colon' && expected !== 'comma' && expected !== 'end';
}

function remedyInString(character: string | undefined): string {
  if (character === undefined) return 'a closing double quote is missing';
  if (character === '\\') return String.raw`write a backslash in a string as \\`;
  return String.raw`write a line break in a string as \n, and a tab as \t`;
}

function remedyOf(text: string, offset: number, { expected, closing }: Place): string {
  const character = text[offset];
  const close = closing.at(-1);
  if (character === undefined) {
    return close === undefined ? 'send one JSON object' : `the closing ${close} is missing`;
  }
  if (character === "'") return 'use double quotes instead of single quotes';
  if ('“”„‘’«»`'.includes(character)) return 'use straight double quotes';
  if (character === '/' || character === '#') return 'remove the comment';
  if (expected === 'end') return 'remove what follows the end of the JSON value';
  if (expected === 'colon') return 'a colon must follow the name of a field';
  if (expected === 'comma') return `a comma or the closing ${close} is missing`;
  const isAfterComma = expected === 'name' || expected === 'item';
  if (isAfterComma && character === close) return `remove the comma before the closing ${close}`;
  if (expected.endsWith('name')) return 'write the name of a field in double quotes';
  if (offset === 0 && matchAt(FORM, text, 0) > 0) {
    return 'this is a form; send JSON, such as {"name":"Rex","categoryId":7}';
  }
  return 'a value must be a text in double quotes, a number, true, false or null';
}
