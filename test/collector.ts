import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A span as the collector has received it. */
export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  parentId: string;
  traceState: string;
  name: string;
  /** 2 is SERVER, 3 is CLIENT. */
  kind: number;
  attributes: Record<string, string | number>;
  /** 2 is ERROR. */
  status: number;
  durationNs: bigint;
  resource: Record<string, string | number>;
}

export interface Collector {
  endpoint: string;
  port: number;
  spans: ReceivedSpan[];
  /** Everything that was received, with the heads of the requests. */
  received: () => string;
  headers: IncomingHttpHeaders[];
  close(): Promise<void>;
}

/**
 * Runs a collector that takes OTLP over HTTP with protobuf, on a free port unless one is given. With another
 * status it refuses everything; with status 0 it never responds.
 */
export async function startCollector({
  port = 0,
  status = 200,
}: { port?: number; status?: number } = {}): Promise<Collector> {
  const spans: ReceivedSpan[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const texts: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      headers.push(request.headers);
      texts.push(JSON.stringify(request.headers), body.toString('latin1'));
      if (request.method === 'POST' && request.url === '/v1/traces') spans.push(...spansOf(body));
      if (status !== 0) response.writeHead(status).end();
    });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const { port: opened } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${opened}`,
    port: opened,
    spans,
    received: () => texts.join('\n'),
    headers,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

type Field = Buffer | bigint;

/** The fields of a protobuf message, by number. */
function fieldsOf(message: Buffer): Map<number, Field[]> {
  const fields = new Map<number, Field[]>();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message.readUInt8(at);
      at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const bytes = (length: number): Buffer => message.subarray(at, (at += length));
  while (at < message.length) {
    const tag = Number(varint());
    const type = tag & 7;
    const value =
      type === 0
        ? varint()
        : type === 1
          ? bytes(8).readBigUInt64LE()
          : type === 5
            ? BigInt(bytes(4).readUInt32LE())
            : bytes(Number(varint()));
    fields.getOrInsertComputed(tag >> 3, () => []).push(value);
  }
  return fields;
}

const messages = (message: Map<number, Field[]>, field: number) =>
  (message.get(field) ?? []).map((each) => fieldsOf(each as Buffer));
const bufferOf = (message: Map<number, Field[]>, field: number) =>
  (message.get(field)?.[0] as Buffer | undefined) ?? Buffer.alloc(0);
const numberOf = (message: Map<number, Field[]>, field: number) =>
  (message.get(field)?.[0] as bigint | undefined) ?? 0n;

function attributesOf(message: Map<number, Field[]>, field: number) {
  return Object.fromEntries(
    messages(message, field).map((pair) => {
      const [value = new Map<number, Field[]>()] = messages(pair, 2);
      const read = value.has(1) ? bufferOf(value, 1).toString() : Number(numberOf(value, 3));
      return [bufferOf(pair, 1).toString(), read];
    }),
  );
}

/** The numbers of the fields are those of opentelemetry/proto/trace/v1/trace.proto. */
function spansOf(body: Buffer): ReceivedSpan[] {
  return messages(fieldsOf(body), 1).flatMap((resourceSpans) => {
    const [resource = new Map<number, Field[]>()] = messages(resourceSpans, 1);
    return messages(resourceSpans, 2)
      .flatMap((scopeSpans) => messages(scopeSpans, 2))
      .map((span) => ({
        traceId: bufferOf(span, 1).toString('hex'),
        spanId: bufferOf(span, 2).toString('hex'),
        traceState: bufferOf(span, 3).toString(),
        parentId: bufferOf(span, 4).toString('hex'),
        name: bufferOf(span, 5).toString(),
        kind: Number(numberOf(span, 6)),
        durationNs: numberOf(span, 8) - numberOf(span, 7),
        attributes: attributesOf(span, 9),
        status: Number(messages(span, 15).map((status) => numberOf(status, 3))[0] ?? 0n),
        resource: attributesOf(resource, 1),
      }));
  });
}
