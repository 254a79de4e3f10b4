import { Agent, request as httpRequest } from 'node:http';
import { parseJson } from '../../sdk/src/json.ts';
import { operationsOf, type OpenApiDocument, type Operation } from './document.ts';
import { Model, type ModelPet, type Sending } from './model.ts';
import type { Caller, ParameterValue, Plan } from './requests.ts';
import { require, ResponseCheck, type Received } from './responses.ts';

/** A cursor that was issued most recently is sent with its own status filter; a later one with any. */
const OWN_STATUS_BELOW = 8;

interface SessionOptions {
  document: OpenApiDocument;
  /** Ends in /v1. */
  baseUrl: string;
  keys: Readonly<Record<Caller, string | undefined>>;
  isRemoved: boolean;
  isRateLimited: boolean;
}

interface LastRequest {
  sending: Sending;
  etag: string | undefined;
  content: string;
}

/** One request of a case failed. Those after it were not sent. */
export class RequestFailed extends Error {
  readonly index: number;

  constructor(index: number, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.index = index;
  }
}

/** Sends requests to one service, one after the other, and compares every response with document and model. */
export class Session {
  requests = 0;
  readonly statuses = new Map<number, number>();
  readonly #options: SessionOptions;
  readonly #operations: ReadonlyMap<string, Operation>;
  readonly #model: Model;
  readonly #check: ResponseCheck;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  #last: LastRequest | undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
    const operations = operationsOf(options.document);
    this.#operations = new Map(operations.map((each) => [each.operationId, each]));
    this.#model = new Model(options.document, options);
    this.#check = new ResponseCheck(options.document, this.#model);
  }

  close(): void {
    this.#agent.destroy();
  }

  /** Throws if a response is wrong, or if an animal that was created is not found. */
  async run(plans: readonly Plan[]): Promise<void> {
    const before = this.#model.pets.length;
    this.#last = undefined;
    for (const [index, plan] of plans.entries()) {
      const sending = this.#resolve(plan);
      try {
        if (sending !== undefined) await this.#exchange(sending);
      } catch (cause) {
        throw new RequestFailed(index, cause);
      }
    }
    for (const pet of this.#model.pets.slice(before)) await this.#exchange(this.#getOf(pet));
  }

  #getOf({ id }: ModelPet): Sending {
    return {
      operation: this.#operationOf('getPet'),
      isHead: false,
      caller: 'both scopes',
      parameters: { petId: [String(id)] },
      body: undefined,
      contentType: undefined,
    };
  }

  #operationOf(id: string): Operation {
    const operation = this.#operations.get(id);
    if (operation === undefined) throw new Error(`the document has no operation ${id}`);
    return operation;
  }

  #resolve(plan: Plan): Sending | undefined {
    if (plan.isRepetition === true) return this.#repetition();
    const parameters = Object.fromEntries(
      Object.entries(plan.parameters).map(([name, values]) => [
        name,
        values.flatMap((value) => this.#textsOf(name, value)),
      ]),
    );
    const [cursor] = plan.parameters['cursor'] ?? [];
    if (typeof cursor === 'object' && cursor.issued < OWN_STATUS_BELOW) {
      const issued = this.#model.cursors.at(-1 - cursor.issued);
      if (issued !== undefined) {
        parameters['status'] = issued.status === undefined ? [] : [issued.status];
      }
    }
    const { isHead, caller, body, contentType } = plan;
    const operation = this.#operationOf(plan.operation);
    return { operation, isHead, caller, parameters, body, contentType };
  }

  #textsOf(name: string, value: ParameterValue): string[] {
    if (typeof value === 'string') return [value];
    if (name === 'petId') return [String(this.#model.pets.at(-1 - value.issued)?.id ?? 1)];
    const cursor = this.#model.cursors.at(-1 - value.issued);
    return cursor === undefined ? [] : [cursor.text];
  }

  /** The last request again; a read with its ETag. */
  #repetition(): Sending | undefined {
    if (this.#last === undefined) return undefined;
    const { sending, etag } = this.#last;
    if (etag === undefined) return sending;
    return { ...sending, parameters: { ...sending.parameters, 'If-None-Match': [etag] } };
  }

  async #exchange(sending: Sending): Promise<void> {
    const model = this.#model;
    const earlier = model.findClaimed(sending);
    const content = this.#contentOf(sending);
    let status = model.expectedStatus(sending);
    const { etag, content: lastContent } = this.#last ?? {};
    const isSameEtag = etag !== undefined && sending.parameters['If-None-Match']?.[0] === etag;
    if (status === 200 && isSameEtag && content === lastContent) status = 304;
    const received = await this.#send(sending);
    this.requests += 1;
    this.statuses.set(received.status, (this.statuses.get(received.status) ?? 0) + 1);
    const { isRateLimited } = this.#options;
    // The limit applies to callers with the scope, whenever the service says so.
    if (isRateLimited && received.status === 429 && status !== 401 && status !== 403) status = 429;
    const isReplay = status === 201 && earlier !== undefined;
    this.#check.check(sending, received, { status, isRateLimited, isReplay });
    if (status === 201) this.#noteCreate(sending, received, earlier);
    if (status === 200 || status === 304) this.#notePage(sending, received, status);
    const isRead = sending.operation.method === 'GET';
    this.#last = {
      sending,
      etag: isRead ? received.headers['etag'] : undefined,
      content,
    };
  }

  /** Equal for two responses to the same request that must have the same ETag. */
  #contentOf(sending: Sending): string {
    const { pets, hasNext } = this.#model.page(sending);
    const id = this.#model.findPet(sending)?.id;
    return `${pets.map((pet) => pet.id).join()} ${hasNext} ${id}`;
  }

  #noteCreate(sending: Sending, received: Received, earlier: ModelPet | undefined): void {
    const { id } = parseJson(received.body) as ModelPet;
    const lastId = this.#model.pets.at(-1)?.id ?? 0n;
    require(earlier !== undefined || id > lastId, `the id ${id} follows ${lastId}`);
    this.#check.checkPet(received, earlier ?? this.#model.add(sending, id));
    const { location } = received.headers;
    require(location === undefined ||
      location === `${this.#options.baseUrl}/pets/${id}`, `the Location is ${location}`);
  }

  #notePage(sending: Sending, received: Received, status: number): void {
    const isWhole = status === 200 && !sending.isHead;
    if (sending.operation.operationId === 'getPet') {
      const pet = this.#model.findPet(sending);
      if (isWhole && pet !== undefined) this.#check.checkPet(received, pet);
      return;
    }
    const page = this.#model.page(sending);
    const isHead = !isWhole;
    const cursor = this.#check.checkPage({ ...sending, isHead }, received, page);
    const last = page.pets.at(-1);
    if (cursor === undefined || last === undefined) return;
    const [filter] = sending.parameters['status'] ?? [];
    this.#model.cursors.push({ text: cursor, status: filter, afterId: last.id });
  }

  #send(sending: Sending): Promise<Received> {
    const { operation, isHead, body, contentType = '' } = sending;
    const method = isHead ? 'HEAD' : operation.method;
    const headers: Record<string, string> = {};
    if (contentType !== '') headers['Content-Type'] = contentType;
    if (body !== undefined) headers['Content-Length'] = String(Buffer.byteLength(body));
    const key = this.#options.keys[sending.caller];
    if (key !== undefined) headers['Authorization'] = `Bearer ${key}`;
    for (const { name, in: place } of operation.parameters) {
      const [value] = sending.parameters[name] ?? [];
      if (place === 'header' && value !== undefined) headers[name] = value;
    }
    const url = this.#options.baseUrl + targetOf(sending);
    return new Promise((resolve, reject) => {
      const sent = httpRequest(url, { method, headers, agent: this.#agent }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: Object.fromEntries(
              Object.entries(response.headers).map(([name, value]) => [name, String(value)]),
            ),
            body: Buffer.concat(chunks).toString(),
          }),
        );
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }
}

function targetOf({ operation, parameters }: Sending): string {
  const query = [
    ...operation.parameters.flatMap(({ name, in: place }) =>
      place === 'query' ? (parameters[name] ?? []).map((value) => [name, value] as const) : [],
    ),
    ...(parameters['unknown'] ?? []).map((value) => ['unknown', value] as const),
  ];
  const path = operation.path.replace(/\{(\w+)\}/, (_, name: string) =>
    encodeURIComponent(parameters[name]?.[0] ?? ''),
  );
  const text = query.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
  return text === '' ? path : `${path}?${text}`;
}
