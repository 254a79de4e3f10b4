// The limit of what node:http can do: the same headers and bytes as the service's, from a constant. In plain
// JavaScript, because what Node.js needs to read TypeScript would count as memory that the limit needs.

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const [port, answerFile = ''] = process.argv.slice(2);
const { status, headers, body } = JSON.parse(readFileSync(answerFile, 'utf8'));

createServer((_request, response) => {
  response.writeHead(status, headers);
  response.end(body);
}).listen(Number(port), '127.0.0.1');
