import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { TEST_PASSWORD } from '../../test/support/postgres-server.ts';

/** Where Debian installs PostgreSQL, one folder per version. */
export const POSTGRES_FOLDER = '/usr/lib/postgresql';

/** The configuration of one node of Patroni. */
export function configOf(node: {
  name: string;
  folder: string;
  port: number;
  restPort: number;
  etcdPort: number;
  isSynchronous: boolean;
}) {
  const account = { username: 'petstore', password: TEST_PASSWORD };
  const versions = readdirSync(POSTGRES_FOLDER).toSorted((a, b) => Number(b) - Number(a));
  const rest = `127.0.0.1:${node.restPort}`;
  const address = `127.0.0.1:${node.port}`;
  return {
    scope: 'petstore',
    name: node.name,
    restapi: { listen: rest, connect_address: rest },
    etcd3: { host: `127.0.0.1:${node.etcdPort}` },
    bootstrap: {
      dcs: {
        // The shortest times that Patroni allows.
        ttl: 20,
        loop_wait: 1,
        retry_timeout: 3,
        synchronous_mode: node.isSynchronous,
        synchronous_mode_strict: node.isSynchronous,
        postgresql: { use_pg_rewind: true },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C' }],
    },
    postgresql: {
      listen: address,
      connect_address: address,
      data_dir: join(node.folder, 'data'),
      bin_dir: join(POSTGRES_FOLDER, versions[0] ?? '', 'bin'),
      authentication: { superuser: account, replication: account, rewind: account },
      parameters: { unix_socket_directories: node.folder },
      pg_hba: ['host all all 127.0.0.1/32 md5', 'host replication all 127.0.0.1/32 md5'],
      remove_data_directory_on_rewind_failure: true,
      remove_data_directory_on_diverged_timelines: true,
    },
  };
}
