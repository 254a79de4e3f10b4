const NODE_MAJOR_MIN = 26;
const SQLITE_MIN = [3, 51, 3];

/** Why this runtime will not do, in one line; undefined where it will. */
export function unfitRuntime(versions: { node: string; sqlite?: string }): string | undefined {
  if (Number.parseInt(versions.node, 10) < NODE_MAJOR_MIN) {
    return `Node.js ${versions.node} is too old; ${NODE_MAJOR_MIN} or later is needed. \`npm start\` brings its own.`;
  }
  if (!isAtLeast(versions.sqlite ?? '0', SQLITE_MIN)) {
    return `SQLite ${versions.sqlite} is too old; ${SQLITE_MIN.join('.')} or later is needed. \`npm start\` brings its own.`;
  }
  return undefined;
}

function isAtLeast(version: string, minimum: readonly number[]): boolean {
  const parts = version.split('.').map(Number);
  for (const [index, least] of minimum.entries()) {
    const part = parts[index] ?? 0;
    if (part !== least) return part > least;
  }
  return true;
}
