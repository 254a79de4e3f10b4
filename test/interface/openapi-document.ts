interface DeclaredOperation {
  operationId: string;
  parameters: readonly { name: string; in: 'query' | 'path' | 'header' }[];
  requestBody?: { content: Readonly<Record<string, unknown>> };
  responses: Readonly<Record<string, unknown>>;
}

/** The part of an OpenAPI document that the tests read. */
export interface OpenApiDocument {
  paths: Readonly<Record<string, Readonly<Record<string, DeclaredOperation>>>>;
  components: {
    responses: Readonly<Record<string, DeclaredResponse>>;
    headers: Readonly<Record<string, { example: string }>>;
  };
}

export interface DeclaredResponse {
  content?: Readonly<Record<string, { examples?: Readonly<Record<string, unknown>> }>>;
}

interface Operation extends DeclaredOperation {
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
