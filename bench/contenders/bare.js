// What node:http itself takes: it sends recorded responses of the service, headers and bytes, from constants. It is
// plain JavaScript, because the memory that Node.js needs to load TypeScript would count as part of the limit.
// Arguments: the port, a file with one response per method, and "tuned" for the settings of the service.

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const [port, responsesFile = '', tuned] = process.argv.slice(2);
const responses = JSON.parse(readFileSync(responsesFile, 'utf8'));
const settings = tuned ? { keepAliveTimeout: 0, optimizeEmptyRequests: true } : {};
const encoding = tuned ? 'latin1' : 'utf8';

createServer(settings, (request, response) => {
  const send = () => {
    const { status, headers, body } = responses[request.method];
    response.writeHead(status, headers);
    response.end(body, encoding);
  };
  if (request.method === 'GET') {
    send();
    return;
  }
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    Buffer.concat(chunks).toString();
    send();
  });
}).listen(Number(port), '127.0.0.1');
