import type { Schema } from './json-schema.ts';

export interface Parameter {
  name: string;
  in: 'query' | 'path' | 'header';
  schema: Schema;
}

export interface DeclaredResponse {
  headers?: Readonly<Record<string, unknown>>;
  content?: Readonly<
    Record<string, { schema: Schema; examples?: Readonly<Record<string, unknown>> }>
  >;
}

export interface DeclaredOperation {
  operationId: string;
  parameters: readonly Parameter[];
  requestBody?: { content: Readonly<Record<string, { schema: Schema }>> };
  responses: Readonly<Record<string, DeclaredResponse & { $ref?: string }>>;
}

/** The part of an OpenAPI document that the drill reads. */
export interface OpenApiDocument {
  paths: Readonly<Record<string, Readonly<Record<string, DeclaredOperation>>>>;
  components: {
    schemas: Readonly<Record<string, Schema>>;
    responses: Readonly<Record<string, DeclaredResponse>>;
    headers: Readonly<Record<string, { example: string }>>;
  };
}

export interface Operation extends DeclaredOperation {
  path: string;
  method: string;
}

export function operationsOf({ paths }: OpenApiDocument): Operation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      path,
      method: method.toUpperCase(),
    })),
  );
}

/** The declared response of a status. Errors that any request can get are the `default` response. */
export function findDeclared(
  { components }: OpenApiDocument,
  { responses }: Operation,
  status: number,
): DeclaredResponse | undefined {
  const found = responses[status] ?? (status >= 400 ? responses['default'] : undefined);
  const name = found?.$ref?.replace('#/components/responses/', '');
  return name === undefined ? found : components.responses[name];
}
