import fc, { type Arbitrary } from 'fast-check';
import { parseJson } from '../../sdk/src/json.ts';

/** The part of JSON Schema that the OpenAPI document uses. */
export interface Schema {
  $ref?: string;
  type?: string;
  format?: string;
  enum?: readonly string[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  required?: readonly string[];
  properties?: Readonly<Record<string, Schema>>;
  items?: Schema;
}

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;
/** JSON of every type, and texts that some rule of the document forbids. */
const STRANGE = [
  'null',
  'true',
  '1.5',
  '-1',
  '0',
  '1e400',
  '9223372036854775808',
  '-9223372036854775809',
  '[]',
  '{}',
  '[1]',
  '""',
  '"1"',
  '"Available"',
  '"\\u0000"',
  '"\\ud800"',
  '"a\\udfffb"',
];

/** Any code point but the surrogates. fast-check's own unit takes a second to make. */
const CHARACTERS = fc.oneof(
  fc.integer({ min: 1, max: 0x7f }).map((code) => String.fromCodePoint(code)),
  fc
    .integer({ min: 1, max: 0x10_ff_ff })
    .map((code) => String.fromCodePoint(code))
    .filter((text) => text.isWellFormed()),
);

/** The schemas of a document: checks values, and makes JSON texts that are valid or invalid. */
export class Schemas {
  readonly #components: Readonly<Record<string, Schema>>;

  constructor(components: Readonly<Record<string, Schema>>) {
    this.#components = components;
  }

  resolve(schema: Schema): Schema {
    if (schema.$ref === undefined) return schema;
    const found = this.#components[schema.$ref.replace('#/components/schemas/', '')];
    if (found === undefined) throw new Error(`the document has no ${schema.$ref}`);
    return found;
  }

  /** Says what is wrong with a value, in which integers are bigints. */
  findFault(given: Schema, value: unknown, path = 'the value'): string | undefined {
    const schema = this.resolve(given);
    if (schema.enum !== undefined) {
      const isListed = schema.enum.some((each) => each === value);
      return isListed ? undefined : `${path} is not in the enum`;
    }
    switch (schema.type) {
      case 'integer':
        return findIntegerFault(schema, value, path);
      case 'string':
        return findStringFault(schema, value, path);
      case 'array':
        if (!Array.isArray(value)) return `${path} is not an array`;
        return value
          .map((item, index) => this.findFault(schema.items ?? {}, item, `${path}[${index}]`))
          .find((fault) => fault !== undefined);
      case 'object':
        return this.#findObjectFault(schema, value, path);
      default:
        throw new Error(`the type ${schema.type} is not supported`);
    }
  }

  #findObjectFault(schema: Schema, value: unknown, path: string): string | undefined {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return `${path} is not an object`;
    }
    const missing = schema.required?.find((name) => !Object.hasOwn(value, name));
    if (missing !== undefined) return `${path} has no ${missing}`;
    return Object.entries(value)
      .map(([name, each]) => {
        const property = schema.properties?.[name];
        return property === undefined ? undefined : this.findFault(property, each, name);
      })
      .find((fault) => fault !== undefined);
  }

  /** JSON texts that the schema allows. */
  valid(given: Schema): Arbitrary<string> {
    const schema = this.resolve(given);
    const texts = this.#validTexts(schema);
    return texts.filter((text) => this.#findTextFault(schema, text) === undefined);
  }

  /** JSON texts that the schema forbids. */
  invalid(given: Schema): Arbitrary<string> {
    const schema = this.resolve(given);
    const texts =
      schema.type === 'object' ? this.#invalidObject(schema) : fc.constantFrom(...strange(schema));
    return texts.filter((text) => this.#findTextFault(schema, text) !== undefined);
  }

  #findTextFault(schema: Schema, text: string): string | undefined {
    return this.findFault(schema, parseJson(text));
  }

  #validTexts(schema: Schema): Arbitrary<string> {
    if (schema.enum !== undefined) {
      return fc.constantFrom(...schema.enum.map((each) => JSON.stringify(each)));
    }
    switch (schema.type) {
      case 'integer':
        return integerTexts(schema);
      case 'string':
        return strings(schema).map((text) => JSON.stringify(text));
      default: {
        const properties = Object.entries(schema.properties ?? {});
        const members = Object.fromEntries(
          properties.map(([name, each]) => [name, this.valid(each)]),
        );
        return fc
          .record(members, { requiredKeys: [...(schema.required ?? [])] })
          .map((object) => objectText(object));
      }
    }
  }

  /** An object in which one property is missing or invalid. */
  #invalidObject(schema: Schema): Arbitrary<string> {
    const properties = Object.entries(schema.properties ?? {});
    const broken = properties.flatMap(([name, each]) => [
      this.invalid(each).map((text) => [name, text] as const),
      ...(schema.required?.includes(name) === true
        ? [fc.constant([name, undefined] as const)]
        : []),
    ]);
    const valid = Object.fromEntries(properties.map(([name, each]) => [name, this.valid(each)]));
    const objects = fc
      .tuple(fc.record(valid), fc.oneof(...broken))
      .map(([object, [name, text]]) => {
        const { [name]: _, ...rest } = object;
        return objectText(text === undefined ? rest : { ...rest, [name]: text });
      });
    return fc.oneof({ weight: 4, arbitrary: objects }, fc.constantFrom(...STRANGE));
  }
}

function objectText(members: Readonly<Record<string, string | undefined>>): string {
  const parts = Object.entries(members).flatMap(([name, text]) =>
    text === undefined ? [] : [`${JSON.stringify(name)}:${text}`],
  );
  return `{${parts.join(',')}}`;
}

function integerTexts({ format, minimum, maximum }: Schema): Arbitrary<string> {
  if (format !== 'int64') {
    return fc.integer({ min: minimum ?? -1_000, max: maximum ?? 1_000 }).map(String);
  }
  const digits = fc.oneof(
    fc.bigInt({ min: INT64_MIN, max: INT64_MAX }),
    fc.bigInt({ min: -9n, max: 999n }),
    fc.constantFrom(INT64_MIN, INT64_MAX, 2n ** 53n + 1n),
  );
  return digits.map(String);
}

function strings({ minLength = 0, maxLength = 300, pattern }: Schema): Arbitrary<string> {
  const isAnyText = pattern === undefined || pattern.startsWith('^[^');
  return isAnyText
    ? fc.oneof(
        { weight: 9, arbitrary: fc.string({ unit: CHARACTERS, minLength, maxLength }) },
        fc.constantFrom('🐕'.repeat(maxLength), '\\"\u2028'.repeat(3), '__proto__'),
      )
    : fc.stringMatching(new RegExp(pattern, 'u'));
}

/** Texts of which most break the schema: the caller drops the others. */
function strange({ minimum, maximum, maxLength }: Schema): string[] {
  return [
    ...STRANGE,
    ...(minimum === undefined ? [] : [String(minimum - 1)]),
    ...(maximum === undefined ? [] : [String(maximum + 1)]),
    ...(maxLength === undefined ? [] : [JSON.stringify('a'.repeat(maxLength + 1))]),
  ];
}

function findIntegerFault(schema: Schema, value: unknown, path: string): string | undefined {
  if (typeof value !== 'bigint') return `${path} is not an integer`;
  const { minimum = INT64_MIN, maximum = INT64_MAX } = schema;
  return value < minimum || value > maximum ? `${path} is out of range` : undefined;
}

function findStringFault(schema: Schema, value: unknown, path: string): string | undefined {
  if (typeof value !== 'string') return `${path} is not a string`;
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern = '' } = schema;
  // No schema can express this in words that every validator takes.
  if (!value.isWellFormed()) return `${path} has a lone surrogate`;
  const { length } = Array.from(value);
  if (length < minLength || length > maxLength) return `${path} has ${length} characters`;
  return new RegExp(pattern, 'u').test(value) ? undefined : `${path} does not match ${pattern}`;
}
