import { isUtf8 } from 'node:buffer';
import { Refusal } from '../domain/errors.ts';
import { parseJson } from '../domain/json.ts';
import { jsonFault } from './json-fault.ts';
import { JSON_MEDIA_TYPE, type HttpRequest } from './message.ts';

/** How much of a Content-Type an error message repeats. */
const TYPE_LENGTH_MAX = 60;
const BYTE_ORDER_MARK = '\uFEFF';

/** Reads the JSON body of a request. Checks for 415 first, without reading the body, then for 413 and 400. */
export async function readJsonBody(request: HttpRequest): Promise<unknown> {
  refuseMediaType(request);
  const bytes = await request.readBody();
  if (bytes.length === 0) {
    throw new Refusal('invalid_json', 'The body is empty; it must be a JSON object.');
  }
  if (!isUtf8(bytes)) throw new Refusal('invalid_json', 'The body is not valid UTF-8.');
  const text = bytes.toString();
  if (text.startsWith(BYTE_ORDER_MARK)) {
    const fault = 'The body begins with a byte order mark (U+FEFF); send the JSON without it.';
    throw new Refusal('invalid_json', fault);
  }
  try {
    return parseJson(text);
  } catch (error) {
    const { cause } = error as Refusal;
    throw cause instanceof SyntaxError
      ? new Refusal('invalid_json', jsonFault(cause), { cause })
      : error;
  }
}

function refuseMediaType({ headers }: HttpRequest): void {
  const type = headers['content-type'];
  if (type !== undefined && !isJson(type)) {
    const isForm = type.startsWith('application/x-www-form-urlencoded');
    const option = isForm ? `; with curl, add -H 'Content-Type: ${JSON_MEDIA_TYPE}'` : '';
    throw new Refusal(
      'unsupported_media_type',
      `The body must be ${JSON_MEDIA_TYPE} in UTF-8, not ${type.slice(0, TYPE_LENGTH_MAX)}${option}.`,
    );
  }
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding.toLowerCase() !== 'identity') {
    throw new Refusal(
      'unsupported_media_type',
      'The body must be sent without a Content-Encoding; only identity is read.',
    );
  }
}

const MEDIA_TYPE = /^application\/json\s*(?:;(.*))?$/i;

function isJson(contentType: string): boolean {
  const parameters = MEDIA_TYPE.exec(contentType);
  if (parameters === null) return false;
  return (parameters[1] ?? '').split(';').every((parameter) => {
    const [name = '', value = ''] = parameter.split('=');
    return name.trim().toLowerCase() !== 'charset' || /^\s*"?utf-?8"?\s*$/i.test(value);
  });
}
