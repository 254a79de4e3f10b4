// Breaks the sessions of PostgreSQL: they use the `synchronous_commit` that is configured there.

import { Client } from 'pg';

const query = Reflect.get(Client.prototype, 'query') as (...args: unknown[]) => unknown;
Reflect.set(
  Client.prototype,
  'query',
  function (this: Client, config: unknown, ...rest: unknown[]) {
    const { text } = config as { text?: string };
    const broken = text?.replace(
      /set_config\('synchronous_commit', CASE/,
      `set_config('drill.no', CASE`,
    );
    return query.call(this, { ...(config as object), text: broken }, ...rest);
  },
);
