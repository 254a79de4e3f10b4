// Traces for OpenTelemetry. This file and the packages that it imports are loaded only if a collector is
// configured. No span has a key, a body, a query or the value of a path parameter.

import { AsyncLocalStorage } from 'node:async_hooks';
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Context, Span } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { Refusal } from '../domain/errors.ts';
import type { Store } from '../domain/store.ts';
import type { OpenTracer } from './trace-export.ts';

type Headers = Record<string, string | undefined>;

interface TracedRequest {
  method: string;
  headers: Readonly<Headers>;
}

interface TracedResponse {
  status: number;
  body: string | Uint8Array;
}

interface TracedHandler<Request, Response> {
  /** Never throws. */
  handle(request: Request): Promise<Response>;
  /** The path without its values, such as `/v1/pets/{petId}`; undefined if there is no such path. */
  routeOf(request: Request): string | undefined;
}

const propagator = new W3CTraceContextPropagator();
const HEADERS = {
  get: (headers: Headers, name: string) => headers[name],
  keys: (headers: Headers) => Object.keys(headers),
  set: (headers: Headers, name: string, value: string) => {
    headers[name] = value;
  },
};

/** The methods that may be the value of an attribute; any other could be anything. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY'];
/** The calls of a store that return no promise. */
type SynchronousCall = {
  [Name in keyof Store]-?: Required<Store>[Name] extends (...values: never[]) => infer Result
    ? Result extends Promise<unknown>
      ? never
      : Name
    : never;
}[keyof Store];
const NOT_TRACED: Readonly<Record<SynchronousCall, true>> = { version: true, portions: true };

/** Makes one span per request, and one below it per call of the store. */
export class Tracing {
  readonly #opened: OpenTracer;
  readonly #databaseSystem: 'sqlite' | 'postgresql';
  /** The span of the request that the current code runs for. */
  readonly #current = new AsyncLocalStorage<Context>();

  constructor(opened: OpenTracer, databaseSystem: 'sqlite' | 'postgresql') {
    this.#opened = opened;
    this.#databaseSystem = databaseSystem;
  }

  /**
   * The same handler with a span around each request, which continues the trace of the caller. The handler
   * gets the `traceparent` of the span, so that the lines of the log name the trace.
   */
  traceHandler<Request extends TracedRequest, Response extends TracedResponse>(
    handler: TracedHandler<Request, Response>,
  ): { handle(request: Request): Promise<Response> } {
    const handle = async (request: Request): Promise<Response> => {
      const caller = propagator.extract(ROOT_CONTEXT, request.headers, HEADERS);
      const span = this.#startRequest(request.method, handler.routeOf(request), caller);
      const context = trace.setSpan(caller, span);
      const headers = { ...request.headers };
      propagator.inject(context, headers, HEADERS);
      const traced = { ...request, headers };
      const response = await this.#current.run(context, () => handler.handle(traced));
      endRequest(span, response);
      return response;
    };
    return { handle };
  }

  /** The same store with a span around each call that a request makes. */
  traceStore(store: Store): Store {
    return new Proxy(store, {
      get: (target, name) => {
        const method: unknown = Reflect.get(target, name, target);
        if (typeof method !== 'function') return method;
        const parent = Object.hasOwn(NOT_TRACED, name) ? undefined : this.#current.getStore();
        const call = (...values: unknown[]): unknown => Reflect.apply(method, target, values);
        if (parent === undefined) return call;
        return (...values: unknown[]) =>
          this.#traceCall(String(name), parent, () => call(...values));
      },
    });
  }

  close(): Promise<void> {
    return this.#opened.close();
  }

  #startRequest(method: string, route: string | undefined, parent: Context): Span {
    const known = METHODS.includes(method) ? method : undefined;
    return this.#opened.tracer.startSpan(
      [known ?? 'HTTP', ...(route === undefined ? [] : [route])].join(' '),
      {
        kind: SpanKind.SERVER,
        attributes: {
          'http.request.method': known ?? '_OTHER',
          ...(route !== undefined && { 'http.route': route }),
        },
      },
      parent,
    );
  }

  async #traceCall(name: string, parent: Context, call: () => unknown): Promise<unknown> {
    const attributes = { 'db.system.name': this.#databaseSystem, 'db.operation.name': name };
    const span = this.#opened.tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, parent);
    try {
      return await call();
    } catch (error) {
      // The message of an error may contain values, so only its kind is sent.
      setFailed(span, error instanceof Refusal ? error.code : 'internal_error');
      throw error;
    } finally {
      span.end();
    }
  }
}

function endRequest(span: Span, { status, body }: TracedResponse): void {
  span.setAttribute('http.response.status_code', status);
  if (status >= 400) {
    // Every error response begins with its code.
    const code = typeof body === 'string' ? /^\{"code":"(\w+)"/.exec(body)?.[1] : undefined;
    if (status >= 500) setFailed(span, code ?? String(status));
    else span.setAttribute('error.type', code ?? String(status));
  }
  span.end();
}

function setFailed(span: Span, type: string): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}
