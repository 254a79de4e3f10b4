// Breaks the interface: a create is acknowledged with a status that the OpenAPI document does not declare.

import { ServerResponse } from 'node:http';

const writeHead = Reflect.get(ServerResponse.prototype, 'writeHead') as (
  ...args: unknown[]
) => unknown;
Reflect.set(
  ServerResponse.prototype,
  'writeHead',
  function (this: ServerResponse, status: number, ...rest: unknown[]) {
    return writeHead.call(this, status === 201 ? 202 : status, ...rest);
  },
);
