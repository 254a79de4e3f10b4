/**
 * The messages of JSON.parse that name a place. They repeat nothing of the text; those without a place do. No document
 * promises their form: they are in src/common/message-template.h of V8 (kJsonParse…), and the test is the canary.
 */
const PLACE = /^([A-Z][^"]+?)(?: in JSON)? at position \d+ \(line (\d+) column (\d+)\)$/;
const TOO_SHORT = 'Unexpected end of JSON input';

/** Says where a body stops being JSON, in the words of V8. Where V8 names no place, a right body stands instead. */
export function jsonFault({ message }: SyntaxError): string {
  if (message === TOO_SHORT) return 'The body is not valid JSON: it ends too early.';
  const [, words = '', line, column] = PLACE.exec(message) ?? [];
  if (words === '') {
    return 'The body is not valid JSON: send an object such as {"name":"Rex","categoryId":7}.';
  }
  const fault = words.charAt(0).toLowerCase() + words.slice(1);
  return `The body is not valid JSON at line ${line}, column ${column}: ${fault}.`;
}
