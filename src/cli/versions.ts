import { openApiDocument } from '../http/openapi.ts';
import { VERSION } from '../installation.ts';

/** The versions that a report of a problem should name, one per line. */
export function versions(): string {
  const { info } = openApiDocument() as { info: { version: string } };
  const { node, sqlite } = process.versions;
  return `petstore ${VERSION}\ninterface ${info.version}\nNode.js ${node}\nSQLite ${sqlite}\n`;
}
