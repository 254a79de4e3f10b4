// What node:http itself takes: it sends recorded responses of the service, headers and bytes, from constants. It is
// plain JavaScript, as the compiled service is. Arguments: the port, and a file with the responses.

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const [port, file = ''] = process.argv.slice(2);
const { page, pet, created } = JSON.parse(readFileSync(file, 'utf8'));

createServer((request, response) => {
  const send = ({ status, headers, body }) => {
    response.writeHead(status, headers);
    response.end(body);
  };
  if (request.method === 'GET') {
    send(request.url.startsWith('/v1/pets/') ? pet : page);
    return;
  }
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    Buffer.concat(chunks).toString();
    send(created);
  });
}).listen(Number(port), '127.0.0.1');
