import { escapeHtml } from '../html.ts';

/** The part of JSON Schema that the interface uses. */
export interface Schema {
  type?: string;
  enum?: readonly string[];
  default?: string | number;
  minimum?: number | bigint;
  maximum?: number | bigint;
  minLength?: number;
  maxLength?: number;
  description?: string;
  required?: readonly string[];
  properties?: Readonly<Record<string, Schema>>;
  examples?: readonly unknown[];
}

export interface Field {
  name: string;
  schema: Schema;
  /** Markdown. */
  description: string;
  isRequired: boolean;
}

/** The fields of an object, or parameters, with their types and rules. */
export function fieldList(fields: readonly Field[], inline: (markdown: string) => string): string {
  const items = fields.map(({ name, schema, description, isRequired }) => {
    const rules = [typeOf(schema), ...rulesOf(schema)].map(escapeHtml).join(' · ');
    const required = isRequired ? ' <span class="required">required</span>' : '';
    return `<dt><code>${escapeHtml(name)}</code> <span class="type">${rules}</span>${required}</dt><dd>${inline(description)}</dd>`;
  });
  return `<dl class="fields">${items.join('\n')}</dl>\n`;
}

export function fieldsOf({
  properties,
  required,
}: Required<Pick<Schema, 'properties' | 'required'>>): Field[] {
  return Object.entries(properties).map(([name, field]) => ({
    name,
    schema: field,
    description: field.description ?? '',
    isRequired: required.includes(name),
  }));
}

function typeOf({ type }: Schema): string {
  return type === 'bigint' ? 'integer (int64)' : (type ?? 'any');
}

function rulesOf(schema: Schema): string[] {
  const { enum: values, minLength, maxLength, minimum, maximum } = schema;
  return [
    ...(values === undefined ? [] : [values.join(', ')]),
    // "int64" already says the range.
    ...(typeof minimum === 'number' ? [`${minimum} to ${maximum}`] : []),
    ...(maxLength === undefined ? [] : [`${minLength ?? 0} to ${maxLength} characters`]),
    // Some descriptions already name the default.
    ...(schema.default === undefined || /default/i.test(schema.description ?? '')
      ? []
      : [`default ${schema.default}`]),
  ];
}
