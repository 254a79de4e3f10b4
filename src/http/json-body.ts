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
  requireMediaType(request, [JSON_MEDIA_TYPE]);
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

/** Throws a 415 for another media type or an encoding. A body may have no type. */
export function requireMediaType({ headers }: HttpRequest, accepted: readonly string[]): void {
  const type = headers['content-type'];
  if (type !== undefined && !isOneOf(type, accepted)) {
    const isForm = type.startsWith('application/x-www-form-urlencoded');
    const option = isForm ? `; with curl, add -H 'Content-Type: ${accepted[0]}'` : '';
    const words =
      accepted.length === 1 ? `${accepted[0]} in UTF-8` : `one of ${accepted.join(', ')}`;
    throw new Refusal(
      'unsupported_media_type',
      `The body must be ${words}, not ${type.slice(0, TYPE_LENGTH_MAX)}${option}.`,
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

function isOneOf(contentType: string, accepted: readonly string[]): boolean {
  const [type = '', ...parameters] = contentType.split(';');
  if (!accepted.includes(type.trimEnd().toLowerCase())) return false;
  return parameters.every((parameter) => {
    const [name = '', value = ''] = parameter.split('=');
    return name.trim().toLowerCase() !== 'charset' || /^\s*"?utf-?8"?\s*$/i.test(value);
  });
}
