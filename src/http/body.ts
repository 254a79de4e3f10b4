import { isUtf8 } from 'node:buffer';
import { Refusal } from '../domain/errors.ts';
import { parseJson } from '../domain/json.ts';
import { JSON_MEDIA_TYPE, type HttpRequest } from './message.ts';

export const BODY_BYTES_MAX = 64 * 1024;

/** Reads the JSON body of a request: 415 before 413 before 400, and nothing is read for a 415. */
export async function readJsonBody(request: HttpRequest): Promise<unknown> {
  refuseMediaType(request);
  const bytes = await request.readBody(BODY_BYTES_MAX);
  if (bytes.length === 0) {
    throw new Refusal('invalid_json', 'The body is empty; it must be a JSON object.');
  }
  if (!isUtf8(bytes)) throw new Refusal('invalid_json', 'The body is not valid UTF-8.');
  return parseJson(bytes.toString());
}

function refuseMediaType({ headers }: HttpRequest): void {
  const type = headers['content-type'];
  if (type !== undefined && !isJson(type)) {
    throw new Refusal(
      'unsupported_media_type',
      `The body must be ${JSON_MEDIA_TYPE} in UTF-8; its Content-Type says otherwise.`,
    );
  }
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding.trim().toLowerCase() !== 'identity') {
    throw new Refusal(
      'unsupported_media_type',
      'The body must be sent without a Content-Encoding; only identity is read.',
    );
  }
}

const MEDIA_TYPE = /^application\/json\s*(?:;(.*))?$/i;

function isJson(contentType: string): boolean {
  const parameters = MEDIA_TYPE.exec(contentType.trim());
  if (parameters === null) return false;
  return (parameters[1] ?? '').split(';').every((parameter) => {
    const [name = '', value = ''] = parameter.split('=');
    return name.trim().toLowerCase() !== 'charset' || /^\s*"?utf-?8"?\s*$/i.test(value);
  });
}
