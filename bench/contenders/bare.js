// The upper limit of node:http: it sends the same headers and bytes as the service, from a constant. It is plain
// JavaScript, because the memory that Node.js needs to load TypeScript would count as part of the limit.

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const [port, responseFile = ''] = process.argv.slice(2);
const { status, headers, body } = JSON.parse(readFileSync(responseFile, 'utf8'));

createServer((_request, response) => {
  response.writeHead(status, headers);
  response.end(body);
}).listen(Number(port), '127.0.0.1');
