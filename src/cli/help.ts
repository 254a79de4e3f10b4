import { SETTINGS } from '../config.ts';

/** The help of the command line. Its list of settings is made from SETTINGS. */
export function help(): string {
  const flags = Object.entries(SETTINGS).map(([flag, setting]) => ({
    usage: `--${flag} ${setting.value}`,
    text: `${setting.description} (${setting.variable}; default: ${setting.default})`,
  }));
  const width = Math.max(...flags.map(({ usage }) => usage.length));
  return `petstore: keeps a store's catalogue of animals

Usage
  petstore serve [settings]                          run the service
  petstore health [settings]                         exit code 0 if the service of these settings is ready
  petstore keys create --name N [--scopes S,S] [--expires 90d]
                                                     make a key; it is printed once
  petstore keys list                                 all keys, without their secrets
  petstore keys revoke ID                            end a key now
  petstore keys rotate ID [--overlap 24h]            a new key now, the old one ends after the overlap
  petstore catalogue set-status ID… --to STATUS      give animals a status; see petstore catalogue --help
  petstore catalogue remove ID…                      remove animals
  petstore pets list | add | get ID                  use a running service; see petstore pets --help
  petstore import FILE|- [--format ndjson|csv] [--strict]
                                                     add animals; bad lines are reported and skipped;
                                                     run the same command again to continue an import
  petstore export [--format ndjson|csv]              write all animals to standard output
  petstore copy --from URL --to URL                  copy a whole catalogue; URL is sqlite:FILE or
                                                     postgres://…; run it again to continue a copy
  petstore check BASE_URL [BASE_URL2] --key K [--key2 K2] [--write] [--json]
                                                     check any service against the specification; reads only
                                                     unless --write (keys: PETSTORE_API_KEY, PETSTORE_API_KEY_2)
  petstore --help | --version

Settings (flag, then environment variable, then default)
${flags.map(({ usage, text }) => `  ${usage.padEnd(width)}  ${text}`).join('\n')}

PETSTORE_BOOTSTRAP_KEY supplies the first key of an empty store. Without it, the service creates one.
The keys, catalogue, import and export commands take --env, --data and --database, and work whether or
not the service runs.
`;
}
