import type { Operation, Parameter } from '../../http/operation.ts';
import { escapeHtml } from '../html.ts';
import type { Schema } from './field-table.ts';

/** The form that sends a request. A script shows it and does the sending. */
export function tryForm({ method, path, parameters, body }: Operation): string {
  const schema: Schema | undefined = body;
  const example = schema?.examples?.[0];
  const fields = parameters.map(input);
  const text =
    example === undefined
      ? ''
      : `<label class="all">Body<textarea name="body" rows="5" spellcheck="false">${escapeHtml(JSON.stringify(example, null, 2))}</textarea></label>`;
  return `<details class="try" hidden><summary>Try it</summary><form data-method="${method}" data-path="${path}">${text}${fields.join('')}<div class="all actions"><button class="primary">Send request</button></div></form><div class="tried" role="status"></div></details>\n`;
}

function input({ name, in: place, schema }: Parameter): string {
  const { enum: values, examples }: Schema = schema;
  const attributes = `name="${name}" data-in="${place}"`;
  // `Prefer` has one value; a path parameter is never empty.
  const choices = values ?? (name === 'Prefer' ? (examples as string[] | undefined) : undefined);
  const control =
    choices === undefined
      ? `<input ${attributes}${place === 'path' ? ' value="1" required' : ''} autocomplete="off" spellcheck="false">`
      : `<select ${attributes}><option value="">not sent</option>${choices.map((value) => `<option>${value}</option>`).join('')}</select>`;
  return `<label>${name}${control}</label>`;
}
