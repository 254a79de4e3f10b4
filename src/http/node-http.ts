/**
 * What is used of node:http. An import of it would also load its WebSocket, with all that hangs on it:
 * 13 MiB, and a twentieth of a second at every start, for something that nobody asked for.
 */
export const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http');
