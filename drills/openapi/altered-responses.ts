import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Response {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** What a proxy or a mistake could do to a response. The drill must find each of them. */
export const ALTERATIONS: Readonly<Record<string, (response: Response) => void>> = {
  'integers are rounded': (response) => {
    if (response.body !== '') response.body = JSON.stringify(JSON.parse(response.body));
  },
  'a status is another one': (response) => {
    if (response.status === 404) response.status = 400;
  },
  'a status is not declared': (response) => {
    if (response.status === 201) response.status = 202;
  },
  'a header is missing': ({ headers }) => {
    delete headers['deprecation'];
  },
  'a header is not declared': ({ headers }) => {
    headers['x-powered-by'] = 'a framework';
  },
  'an Error has a fourth field': (response) => {
    response.body = response.body.replace(/^\{"code"/, '{"detail":1,"code"');
  },
  'an animal lacks its status': (response) => {
    response.body = response.body.replace(/,"status":"sold"\}/, '}');
  },
  'a list ends too early': ({ headers }) => {
    headers['link'] = (headers['link'] ?? '').replace(/^<[^>]*>; rel="next", /, '');
  },
  'the last animal of a list is missing': (response) => {
    response.body = response.body.replace(/(\[\{.*),\{[^{]*\}\]$/, '$1]');
  },
};

/** Passes requests on to a service, and alters its responses. */
export async function openAlteringProxy(baseUrl: string, alter: (response: Response) => void) {
  const { origin } = new URL(baseUrl);
  const server = createServer({ keepAliveTimeout: 0 }, (incoming, outgoing) =>
    passOn(origin, incoming, outgoing, alter),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function passOn(
  origin: string,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  alter: (response: Response) => void,
): void {
  const { method, url = '', headers } = incoming;
  const sent = request(origin + url, { method, headers, agent: false }, (received) => {
    const chunks: Buffer[] = [];
    received.on('data', (chunk: Buffer) => chunks.push(chunk));
    received.on('end', () => {
      const { 'content-length': _, connection: __, ...rest } = received.headers;
      const response: Response = {
        status: received.statusCode ?? 0,
        // Location and Link must name the address of the proxy.
        headers: Object.fromEntries(
          Object.entries(rest).map(([name, value]) => [
            name,
            String(value).replaceAll(origin, `http://${headers.host}`),
          ]),
        ),
        body: Buffer.concat(chunks).toString(),
      };
      alter(response);
      outgoing.statusCode = response.status;
      outgoing.setHeaders(new Map(Object.entries(response.headers)));
      outgoing.end(response.body);
    });
  });
  sent.on('error', () => outgoing.destroy());
  incoming.pipe(sent);
}
