import type { Bug } from './bug.ts';

/** Whoever fixes a defect adds it here, with the test that finds it. The key says what is wrong. */
export const BUGS = {
  // The service: what an animal, a page and a key are
  'a name is counted in code units': {
    file: 'src/domain/pet.ts',
    text: 'text.length <= max || (text.length <= 2 * max && Array.from(text).length <= max)',
    changed: 'text.length <= max',
    test: 'test/interface/sqlite.test.ts',
    title: 'a name of 255 characters beyond U+FFFF is accepted, and 400 with one more',
  },
  'a name may have a lone surrogate': {
    file: 'src/domain/pet.ts',
    text: ' && text.isWellFormed()',
    changed: '',
    test: 'src/domain/pet.unit.test.ts',
    title: 'a name with U+0000 or a lone surrogate is refused, and one with an emoji is not',
  },
  'a cursor of a filter is accepted without the filter': {
    file: 'src/domain/page.ts',
    text: 'if (bytes.readUInt8(0) === filter) return',
    changed: 'if (status === undefined || bytes.readUInt8(0) === filter) return',
    test: 'src/domain/page.unit.test.ts',
    title: 'a cursor is refused with a different status filter',
  },
  'integers of 16 to 18 digits are rounded': {
    file: 'src/domain/json.ts',
    text: '|\\d{3}\\d{3}\\d{3}\\d{3}\\d{3})/',
    changed: '|\\d{3}\\d{3}\\d{3}\\d{3}\\d{3}\\d{3})/',
    test: 'src/domain/json.unit.test.ts',
    title: 'the fast and the exact parser give the same result',
  },
  'the smallest int64 is refused': {
    file: 'src/domain/int64.ts',
    text: 'return value >= INT64_MIN && value',
    changed: 'return value > INT64_MIN && value',
    test: 'src/domain/int64.unit.test.ts',
    title: 'parseInt64 returns every int64 from its digits',
  },
  'a create with another status is taken for a repeated one': {
    file: 'src/domain/idempotency.ts',
    text: 'JSON.stringify([pet.name, String(pet.categoryId), pet.status])',
    changed: 'JSON.stringify([pet.name, String(pet.categoryId)])',
    test: 'src/domain/idempotency.unit.test.ts',
    title: 'two creates have the same fingerprint exactly if they are for the same animal',
  },
  'a key is revoked only when the clock says so': {
    file: 'src/domain/api-key.ts',
    text: "if (key.revokedAt !== undefined) return 'revoked';",
    changed: "if (key.revokedAt !== undefined && key.revokedAt <= now) return 'revoked';",
    test: 'src/domain/api-key.unit.test.ts',
    title:
      'a key is active until the moment it expires; with a revocation time it is revoked, whatever the clock says',
  },
  'some letters of a key are more frequent': {
    file: 'src/domain/api-key.ts',
    text: 'const fairLimit = 256 - (256 % ALPHABET.length);',
    changed: 'const fairLimit = 256;',
    test: 'src/domain/api-key.unit.test.ts',
    title: 'a byte that would favour some letters is skipped',
  },
  // The service: requests and responses
  'a create is acknowledged with 202': {
    file: 'src/http/pets.ts',
    text: 'return { status: 201, headers: CREATED_HEADERS',
    changed: 'return { status: 202, headers: CREATED_HEADERS',
    test: 'src/http/app.test.ts',
    title: 'a request without a fault is 201',
  },
  'a strict caller gets the cached response of others': {
    file: 'src/http/pets.ts',
    text: 'isStrict ? `${request.target} strict` : request.target',
    changed: 'request.target',
    test: 'src/http/app.test.ts',
    title:
      'a strict caller is refused for a target whose response to others is cached, and the others are not',
  },
  'a rotated key has lost the claims of the former one': {
    file: 'src/http/pets.ts',
    text: 'const { firstKeyId } = await authenticate(',
    changed: 'const { id: firstKeyId } = await authenticate(',
    test: 'test/interface/sqlite.test.ts',
    title: 'a key and those that rotate made from it share the creates that happen once',
  },
  'a request for an unknown path is not counted': {
    file: 'src/http/app.ts',
    text: '    const usage = await countRequest?.(caller.id);\n',
    changed:
      '    if (route === undefined) return notFound(path);\n    const usage = await countRequest?.(caller.id);\n',
    test: 'src/http/app.test.ts',
    title:
      'a request with an accepted key counts towards the limit and as a use of the key, also with a path that does not exist',
  },
  'a call of the removed operation is not counted': {
    file: 'src/http/app.ts',
    text: '      metrics.deprecatedCall(caller.id);\n      keyUses.noteDeprecatedCall(caller.id);\n      if (this.#isRemoved(operation)) return operationRemoved(deprecation);\n',
    changed:
      '      if (this.#isRemoved(operation)) return operationRemoved(deprecation);\n      metrics.deprecatedCall(caller.id);\n      keyUses.noteDeprecatedCall(caller.id);\n',
    test: 'src/http/app.test.ts',
    title:
      'a call of the removed operation is still a deprecated call, of the service and of the key',
  },
  'a key that has used up its limit looks unused': {
    file: 'src/http/app.ts',
    text: '    keyUses.note(caller.id);\n    const usage = await countRequest?.(caller.id);\n    if (usage !== undefined) headers.push(rateLimitHeaders(usage));\n',
    changed:
      '    const usage = await countRequest?.(caller.id);\n    if (usage !== undefined) headers.push(rateLimitHeaders(usage));\n    if (usage === undefined || usage.left >= 0) keyUses.note(caller.id);\n',
    test: 'src/http/app.test.ts',
    title:
      'a request with an accepted key counts towards the limit and as a use of the key, also with a limit that is used up',
  },
  'the cache ignores the version of the store': {
    file: 'src/http/response-cache.ts',
    text: '    if (version !== this.#version) this.#clear(version);\n',
    changed: '    this.#version = version;\n',
    test: 'drills/simulation/simulation.test.ts',
    title: 'under faults, restarts and clock jumps, every response agrees with a simple model',
  },
  'what was cached at the first version stays': {
    file: 'src/http/response-cache.ts',
    text: '    if (version !== this.#version) this.#clear(version);\n',
    changed: '    this.#version ??= version;\n',
    test: 'drills/simulation/simulation.test.ts',
    title: 'under faults, restarts and clock jumps, every response agrees with a simple model',
  },
  'an emptied cache still counts what it had': {
    file: 'src/http/response-cache.ts',
    text: '    this.#length = 0;\n    this.#version',
    changed: '    this.#version',
    test: 'src/http/response-cache.unit.test.ts',
    title: 'what a commit has emptied no longer counts: later pages are cached side by side',
  },
  'a response that was read before a commit is cached after it': {
    file: 'src/http/response-cache.ts',
    text: 'if (isRequestedAgain && version === this.#version) {',
    changed: 'if (isRequestedAgain) {',
    test: 'src/http/response-cache.unit.test.ts',
    title: 'a response that was read before a commit is not cached after it',
  },
  'the ETag is of the body alone': {
    file: 'src/http/response-cache.ts',
    text: 'etagOf(link === undefined ? body : `${link}\\n${body}`)',
    changed: 'etagOf(body)',
    test: 'src/http/response-cache.unit.test.ts',
    title: 'an ETag has 22 characters, and is of the body and of the link',
  },
  'the 5 seconds of a revocation begin at the end of a read': {
    file: 'src/http/key-ring.ts',
    text: '      this.#keysReadAtMs = beganAtMs;\n',
    changed: '      this.#keysReadAtMs = this.#clock.elapsedMs();\n',
    test: 'src/http/key-ring.test.ts',
    title:
      'the 5 seconds of a revocation begin with the read that missed it, however long that takes',
  },
  'Idempotency-Replayed is not exposed to other origins': {
    file: 'src/http/cors.ts',
    text: ', Idempotency-Replayed',
    changed: '',
    test: 'test/process/settings.test.ts',
    title: 'a configured origin may read responses and their headers; another origin may not',
  },
  'an origin that begins like a configured one is accepted': {
    file: 'src/http/cors.ts',
    text: 'if (origin === undefined || !this.#origins.has(origin)) return',
    changed:
      'const isKnown = [...this.#origins].some((known) => origin?.startsWith(known));\n    if (origin === undefined || !isKnown) return',
    test: 'test/process/settings.test.ts',
    title: 'a configured origin may read responses and their headers; another origin may not',
  },
  'a window of a rate limit ends later where its counter is slow': {
    file: 'src/http/rate-limit.ts',
    text: 'endsAtMs: askedAtMs + portion.endsInMs',
    changed: 'endsAtMs: this.#clock.elapsedMs() + portion.endsInMs',
    test: 'src/http/rate-limit.unit.test.ts',
    title: 'rate limit: a window does not end later because the reply of its counter was slow',
  },
  'without its counter a rate limit is never enforced': {
    file: 'src/http/rate-limit.ts',
    text: '      if (this.#clock.elapsedMs() - this.#failingSinceMs > UNCOUNTED_MS_MAX) throw error;\n',
    changed: '      if (this.#failingSinceMs < 0) throw error;\n',
    test: 'src/http/rate-limit.unit.test.ts',
    title:
      'rate limit: without the counter, requests are not counted for 5 seconds and then refused',
  },
  'a repeated create counts as another animal': {
    file: 'src/http/pets.ts',
    text: "if (creation.kind === 'created') metrics",
    changed: 'metrics',
    test: 'src/http/app.test.ts',
    title: 'a repeated create is not counted as another animal',
  },
  'a charset in capitals is not checked': {
    file: 'src/http/json-body.ts',
    text: "name.trim().toLowerCase() !== 'charset'",
    changed: "name.trim() !== 'charset'",
    test: 'src/http/json-body.unit.test.ts',
    title: 'a body is read if its type is JSON in UTF-8 without an encoding',
  },
  'a parameter may be given twice with two values': {
    file: 'src/http/target.ts',
    text: '} else if (Object.hasOwn(values, name)) {',
    changed: '} else if (values[name] === value) {',
    test: 'src/http/target.unit.test.ts',
    title: 'a known parameter given twice is refused, an unknown one given twice is not',
  },
  'repeated failures are logged only once': {
    file: 'src/http/request-log.ts',
    text: '      this.#counts.delete(name);\n',
    changed: '',
    test: 'src/http/request-log.unit.test.ts',
    title:
      'of refused requests of one kind the first has a line with its id and cause, and the others are counted',
  },
  'a page on the way back begins with the animal that the page after it has': {
    file: 'src/http/pets.ts',
    text: 'newCursor(firstId - 1n, ',
    changed: 'newCursor(firstId, ',
    test: 'test/interface/sqlite.test.ts',
    title:
      'rel="prev" leads from the last page to the oldest animal, with any limit and status, each animal once',
  },
  'an empty page on the way back has no next link': {
    file: 'src/http/pets.ts',
    text: 'if (upToId !== LAST_POSITION.upToId) links',
    changed: 'if (upToId !== LAST_POSITION.upToId && shown.length > 0) links',
    test: 'test/interface/sqlite.test.ts',
    title: 'a page of the way back whose animals were removed is empty, and still has next',
  },
  // The service: connections
  'a connection that has responded is not moved to the end': {
    file: 'src/http/wire/connection.ts',
    text: '    this.#shared.noteResponse(this);\n',
    changed: '',
    test: 'src/http/wire/connection.test.ts',
    title:
      'a connection occupies what the client has not read of a response, and has responded when all is sent',
  },
  'unsent bytes do not count as memory': {
    file: 'src/http/wire/connection.ts',
    text: '      this.socket.writableLength +\n        (this',
    changed: '      (this',
    test: 'src/http/wire/connection.test.ts',
    title:
      'a connection occupies what the client has not read of a response, and has responded when all is sent',
  },
  'while a request is held, its connection is read': {
    file: 'src/http/wire/connection.ts',
    text: '      this.#held.length > 0 ||\n      this.#ignored > 0 ||\n',
    changed: '      this.#ignored > 0 ||\n',
    test: 'src/http/wire/connection.test.ts',
    title: 'while a request is held, its connection is not read, even if node:http resumes it',
  },
  'one request too many is held': {
    file: 'src/http/wire/connection.ts',
    text: '|| this.#held.length === HELD_MAX) {',
    changed: '|| this.#held.length > HELD_MAX) {',
    test: 'src/http/wire/connection.test.ts',
    title: 'behind the request in progress 100 are held; more are not handled, but occupy memory',
  },
  'a connection that had a response is closed like one that had none': {
    file: 'src/http/wire/connections.ts',
    text: '    if (!served.delete(place)) strangers.delete(place);\n    served.add(place);',
    changed: '    if (!served.delete(place)) strangers.delete(place);\n    strangers.add(place);',
    test: 'src/http/wire/connections.unit.test.ts',
    title:
      'of idle connections, one that had a response long ago stays longer than a newer one that had none',
  },
  'a closed connection still counts as memory': {
    file: 'src/http/wire/connections.ts',
    text: '      this.#occupiedBytes -= place.occupiedBytes;\n      this.#places.delete(socket);',
    changed: '      this.#places.delete(socket);',
    test: 'src/http/wire/connections.unit.test.ts',
    title: 'what a closed connection has occupied is free',
  },
  'the chunks of a body are not counted': {
    file: 'src/http/wire/body.ts',
    text: 'length > BODY_BYTES_MAX || this.#chunks > BODY_CHUNKS_MAX',
    changed: 'length > BODY_BYTES_MAX',
    test: 'test/interface/connection.test.ts',
    title: 'a body of 4,096 chunks is stored, and one of 4,097 is 413',
  },
  'a response to HEAD has a body': {
    file: 'src/http/wire/encode.ts',
    text: "  if (method === 'HEAD') return [head, 'latin1'];\n",
    changed: '',
    test: 'src/http/wire/server.test.ts',
    title:
      'a response to HEAD is sent with its length and the date, on a connection that stays and on one that closes',
  },
  'Content-Length counts characters': {
    file: 'src/http/wire/encode.ts',
    text: 'const length = Buffer.byteLength(body);',
    changed: 'const length = body.length;',
    test: 'src/http/wire/server.test.ts',
    title:
      'a text with other letters is sent with its length and the date, on a connection that stays and on one that closes',
  },
  'a connection is closed 65 seconds after it was accepted': {
    file: 'src/http/wire/connections.ts',
    text: '        place.movedMs = nowMs;\n',
    changed: '',
    test: 'src/http/wire/connections.unit.test.ts',
    title: 'the 65 seconds begin with the last byte that moved',
  },
  'a response header may have characters outside ASCII': {
    file: 'src/http/wire/encode.ts',
    text: 'if (!NAME.test(name) || NOT_IN_VALUE.test(value)) {',
    changed: "if (!NAME.test(name) || value.includes('\\n')) {",
    test: 'src/http/wire/server.test.ts',
    title:
      'a response with a header that has a character outside ASCII is not sent, but the 500 Error, and the cause is reported',
  },
  'HTTP/1.0 may have a Transfer-Encoding': {
    file: 'src/http/wire/head.ts',
    text: "    if (httpVersion === '1.0') return refusals.codingOfOldVersion;\n",
    changed: '',
    test: 'test/interface/malformed.test.ts',
    title: 'HTTP/1.0 with Transfer-Encoding is 400, and the connection closes',
  },
  'two Host headers are accepted': {
    file: 'src/http/wire/head.ts',
    text: '[^\\s,/?#@\\\\:[\\]]+',
    changed: '[^/?#@\\\\:[\\]]+',
    test: 'test/interface/malformed.test.ts',
    title: 'two Hosts is 400 malformed_request, the connection closes, and the next request works',
  },
  'a key of the other environment is only unknown': {
    file: 'src/http/authenticate.ts',
    text: 'if (madeFor !== environment) {',
    changed: 'if (madeFor === undefined) {',
    test: 'src/http/authenticate.unit.test.ts',
    title: 'a key of the other environment is refused by a message that names both',
  },
  'connections that wait at a stop are reset': {
    file: 'src/http/wire/server.ts',
    text: '    await this.#acceptWaiting();\n',
    changed: '',
    test: 'src/http/wire/server.test.ts',
    title: 'a client that is connected before the server is closed gets its response',
  },
  'all clients of a second whose time is over are refused in one turn': {
    file: 'src/http/wire/server.ts',
    text: 'checkMs: 100,',
    changed: 'checkMs: 1_000,',
    test: 'test/interface/malformed.test.ts',
    title:
      '408 for a head that takes over 10 seconds, and for a request that takes over 15 seconds',
  },
  // Stores: both databases
  'a batch waits for half of the time that the one before took': {
    file: 'src/storage/batcher.ts',
    text: 'Math.min(tookMs / 2, DELAY_MS_MAX)',
    changed: 'tookMs / 2',
    test: 'src/storage/batcher.unit.test.ts',
    title: 'however slow a batch was, the next one waits for a few milliseconds only',
  },
  'a write with too little time left is sent': {
    file: 'src/storage/batcher.ts',
    text: 'batch.filter(({ deadline }) => deadline > latest)',
    changed: 'batch.filter(({ deadline }) => deadline > 0 * latest)',
    test: 'src/storage/batcher.unit.test.ts',
    title: 'an item that has too little time left when its turn comes is refused and not sent',
  },
  'a copy put in place by hand counts as the past': {
    file: 'src/storage/restore.ts',
    text: 'return former.lastId <= backup.lastId',
    changed: 'return former.lastId < backup.lastId',
    test: 'src/storage/restore.unit.test.ts',
    title: 'the reason for an unknown past is named',
  },
  'a key that was revoked after the backup is valid again': {
    file: 'src/storage/restore.ts',
    text: 'const revokedAt = earlier(key.revokedAt, other.revokedAt);',
    changed: 'const revokedAt = other.revokedAt;',
    test: 'src/storage/restore.unit.test.ts',
    title: 'revoked after the backup',
  },
  'a store of the next version is opened': {
    file: 'src/storage/migrations.ts',
    text: 'if (version > newest) {',
    changed: 'if (version > newest + 1) {',
    test: 'src/storage/migrations.unit.test.ts',
    title: 'a store gets the migrations it lacks, and one from the future is refused',
  },
  // Stores: SQLite
  'after a hanging disk a create gets the response of another': {
    file: 'src/storage/sqlite/writer-client.ts',
    text: '    if (this.#isStuck) throw overdue();\n',
    changed: '',
    test: 'test/faults/hanging-disk.test.ts',
    title: 'a create that arrives after one was refused never gets the response of that one',
  },
  'a write behind one that fails is tried by itself': {
    file: 'src/storage/sqlite/writer-client.ts',
    text: '      this.#batcher.rejectWaiting(error);\n',
    changed: '',
    test: 'src/storage/sqlite/open.test.ts',
    title:
      'a write that waits behind one that fails is refused with it, and is not tried by itself',
  },
  'ids are counted from all writes of a batch': {
    file: 'src/storage/sqlite/writer-client.ts',
    text: 'let id = lastPetId - BigInt(pets.length);',
    changed: 'let id = lastPetId - BigInt(items.length);',
    test: 'src/storage/sqlite/store.test.ts',
    title: 'a reader that follows the ids meets each animal once and misses none',
  },
  'the place of the file is not checked after the commit': {
    file: 'src/storage/sqlite/writer.ts',
    text: '  requireInPlace(opened);\n  frames = log',
    changed: '  frames = log',
    test: 'test/faults/hanging-disk.test.ts',
    title: 'a create is refused if its file is replaced while the commit waits for the disk',
  },
  'a create is acknowledged before its commit': {
    file: 'src/storage/sqlite/writer.ts',
    text: '    transaction.commit();\n    requireFound();\n    return { lastPetId, results };',
    changed:
      '    port.postMessage({ lastPetId, results } satisfies Reply);\n    transaction.commit();\n    requireFound();\n    return { lastPetId, results };',
    test: 'test/faults/hanging-disk.test.ts',
    title:
      'creates are refused in time, reads continue and the service is not ready; it recovers without a restart',
  },
  'one check proves damage': {
    file: 'src/storage/sqlite/damage-check.ts',
    text: 'checkFile({ wasDamaged: false });',
    changed: 'checkFile({ wasDamaged: true });',
    test: 'src/storage/sqlite/replaced.test.ts',
    title:
      'one check is no proof: a file that looks damaged once, and is intact at the next check, is used',
  },
  'expired claims stay in SQLite': {
    file: 'src/storage/sqlite/statements.ts',
    text: '    removeExpiredClaims.run(nowMs);\n',
    changed: '',
    test: 'src/storage/sqlite/store.test.ts',
    title: 'expired claims are removed by later creates',
  },
  'a failed transaction is not rolled back': {
    file: 'src/storage/sqlite/statements.ts',
    text: "      if (database.isTransaction) database.exec('ROLLBACK');\n",
    changed: '',
    test: 'src/storage/sqlite/store.test.ts',
    title: 'ids are given from 1 upwards, in the order of creation',
  },
  'a failed batch is committed in part': {
    file: 'src/storage/sqlite/statements.ts',
    text: "if (database.isTransaction) database.exec('ROLLBACK');",
    changed: "if (database.isTransaction) database.exec('COMMIT');",
    test: 'src/storage/sqlite/store.test.ts',
    title: 'a create that fails stores neither animal nor claim, and nothing of its batch',
  },
  'an import that another one has overtaken is stored': {
    file: 'src/storage/sqlite/statements.ts',
    text: '      if (moved.changes !== 1n) return false;\n',
    changed: '',
    test: 'src/storage/sqlite/store.test.ts',
    title: 'the note of an import moves with the animals, or neither is stored',
  },
  'a backup stays in WAL mode': {
    file: 'src/storage/sqlite/backup.ts',
    text: "    copy.exec('PRAGMA journal_mode = DELETE');\n",
    changed: '',
    test: 'src/storage/sqlite/backup.test.ts',
    title: 'it is one file: its journal mode is not WAL, so that no tool needs a log beside it',
  },
  'the former log is left beside a restored file': {
    file: 'src/storage/sqlite/restore.ts',
    text: '    if (existsSync(`${file}${suffix}`)) renameSync(`${file}${suffix}`, `${setAside}${suffix}`);\n',
    changed: '',
    test: 'src/storage/sqlite/backup.test.ts',
    title: 'the log of a former file that is missing never reaches the restored one',
  },
  'a file is told from another by its number alone': {
    file: 'src/storage/sqlite/file-identity.ts',
    text: '  return isSame(one, other) && one?.birthtimeNs === other?.birthtimeNs;',
    changed: '  return isSame(one, other);',
    test: 'src/storage/sqlite/file-identity.unit.test.ts',
    title: 'a log is told from one that was created with the same number later',
  },
  'the log is set aside although its database came back': {
    file: 'src/storage/sqlite/file-identity.ts',
    text: '  if (isBesideLog(opened)) return;\n  for',
    changed: '  for',
    test: 'src/storage/sqlite/file-identity.unit.test.ts',
    title: 'a log stays whose database comes back before the lock is taken',
  },
  'commits are synced only at checkpoints': {
    file: 'src/storage/sqlite/connection.ts',
    text: "'PRAGMA synchronous = FULL'",
    changed: "'PRAGMA synchronous = NORMAL'",
    test: 'src/storage/sqlite/open.test.ts',
    title: 'a connection syncs every commit, and not only the checkpoints',
  },
  'an empty store begins where one was': {
    file: 'src/storage/sqlite/connection.ts',
    text: '  refuseLost(file);\n',
    changed: '',
    test: 'src/storage/sqlite/open.test.ts',
    title:
      'a start never makes an empty store where one was: the id beside it is refused with its name',
  },
  'others can read the store': {
    file: 'src/storage/sqlite/connection.ts',
    text: '    restrictToOwner(file);\n',
    changed: '',
    test: 'src/storage/sqlite/open.test.ts',
    title:
      'a store that others can read is restricted to its owner when it is opened, with its log',
  },
  'the name of a file is not synced': {
    file: 'src/storage/sqlite/sync.ts',
    text: "    sync(dirname(resolve(path)), 'r');",
    changed: "    sync(resolve(path), 'r');",
    test: 'src/storage/sqlite/sync.test.ts',
    title:
      'a new store: its folders and its file have their names before the id is written beside it',
  },
  'the log of a start is synced without being written again': {
    file: 'src/storage/sqlite/log.ts',
    text: '        writeSync(descriptor, portion, 0, portion.length, at);\n',
    changed: '',
    test: 'src/storage/sqlite/log.unit.test.ts',
    title:
      'every byte of the log that a start finds is written and synced again, while others read and append',
  },
  'the log of a start is not synced': {
    file: 'src/storage/sqlite/log.ts',
    text: '      fsyncSync(descriptor);\n',
    changed: '',
    test: 'src/storage/sqlite/log.unit.test.ts',
    title:
      'every byte of the log that a start finds is written and synced again, while others read and append',
  },
  'a truncated log is not noticed': {
    file: 'src/storage/sqlite/log.ts',
    text: 'this.#has(Number(frames))) return',
    changed: 'this.#has(0)) return',
    test: 'src/storage/sqlite/log.unit.test.ts',
    title: 'a log whose newest frame was cut has lost it, also where the cut is in the last commit',
  },
  // Stores: PostgreSQL
  'of duplicates in one batch all are called created': {
    file: 'src/storage/postgres/creates.ts',
    text: 'if (known === null && index === 0) resolve',
    changed: 'if (known === null) resolve',
    test: 'src/storage/postgres/store.test.ts',
    title: 'of 2,000 concurrent duplicates one creates, all others replay it, and none is refused',
  },
  'a replaced primary is used again when the newer one is away': {
    file: 'src/storage/postgres/hosts.ts',
    text: 'this.#timeline = Math.max(this.#timeline, ...timelines);',
    changed: 'this.#timeline = Math.max(...timelines);',
    test: 'src/storage/postgres/hosts.test.ts',
    title: 'failover: a primary that is gone is replaced by the host that was promoted',
  },
  'a create is sent again although its outcome is unknown': {
    file: 'src/storage/postgres/errors.ts',
    text: "return fault === 'repeatable' || fault === 'stale_session';",
    changed: "return fault !== 'refused';",
    test: 'src/storage/postgres/running.test.ts',
    title: 'a create whose session ends while it is carried out is sent once',
  },
  'a session that was ended as idle is refused': {
    file: 'src/storage/postgres/errors.ts',
    text: "  '57P05': 'unknown', // idle for too long\n",
    changed: '',
    test: 'src/storage/postgres/running.test.ts',
    title: 'a read succeeds whose session the server ends as idle at that moment',
  },
  'the warning that a commit did not reach the standby is ignored': {
    file: 'src/storage/postgres/connection.ts',
    text: "      if (this.#isDoubtful) throw new NoResponse('it may not have reached the standby');\n",
    changed: '',
    test: 'src/storage/postgres/running.test.ts',
    title: 'a create whose wait for the standby was cancelled by hand is refused',
  },
  'commits of PostgreSQL do not wait for the disk where that is configured': {
    file: 'src/storage/postgres/connection.ts',
    text: "THEN 'remote_apply' ELSE 'on' END",
    changed: "THEN 'remote_apply' ELSE current_setting('synchronous_commit') END",
    test: 'src/storage/postgres/session.test.ts',
    title:
      'every session waits for its commits: synchronous_commit is on, or remote_apply where that is configured',
  },
  'a failed transaction stays open in its session': {
    file: 'src/storage/postgres/connection.ts',
    text: "    await run('ROLLBACK').catch(() => connection.destroy());\n",
    changed: '',
    test: 'src/storage/postgres/store.test.ts',
    title: 'rotating stores the successor and ends the old key, both or neither',
  },
  'a lost connection is not replaced for those who wait': {
    file: 'src/storage/postgres/pool.ts',
    text: '      this.#connections.delete(connection);\n      void this.#openMore();\n',
    changed: '      this.#connections.delete(connection);\n',
    test: 'src/storage/postgres/pool.test.ts',
    title: 'a caller that waits for a connection which is lost gets a new one',
  },
  'a connection with stale plans is used again': {
    file: 'src/storage/postgres/pool.ts',
    text: "    for (const used of this.#connections.keys()) this.#connections.set(used, 'retired');\n",
    changed: '',
    test: 'src/storage/postgres/pool.test.ts',
    title:
      'after a stale plan no connection with prepared plans is used again, also if it is in use',
  },
  'a read joins a query that was sent before': {
    file: 'src/storage/postgres/shared-reads.ts',
    text: '      this.#waiting.delete(name);\n      this.#callersWaiting -= read.callers;\n      void this.#send(read);',
    changed:
      '      this.#callersWaiting -= read.callers;\n      void this.#send(read).finally(() => this.#waiting.delete(name));',
    test: 'src/storage/postgres/pool.test.ts',
    title: 'callers that wait for the same read share a query, and none joins a query already sent',
  },
  'expired claims stay in PostgreSQL': {
    file: 'src/storage/postgres/statements.ts',
    text: 'WHERE claim.expires_at <= (SELECT min(now) FROM input)',
    changed: 'WHERE claim.expires_at <= 0',
    test: 'src/storage/postgres/store.test.ts',
    title: 'expired claims are removed by later creates',
  },
  'a database that has lost animals is served when its counter has grown': {
    file: 'src/storage/postgres/past.ts',
    text: 'this.#refused.get(database) ?? this.#lossIn(',
    changed: 'this.#lossIn(',
    test: 'src/storage/postgres/past.test.ts',
    title:
      'D43: a promoted standby without the last creates is refused with 503 and one error with both values, also when its counter has grown; a restart goes back to the old primary',
  },
  'the newest animals of one status cost a read of all that were added since': {
    file: 'src/storage/postgres/statements.ts',
    text: '(status, id) <= ($1, $2) AND status >= $1\n    ORDER BY status DESC, id DESC LIMIT $3',
    changed: 'status = $1 AND id <= $2\n    ORDER BY id DESC LIMIT $3',
    test: 'src/storage/postgres/statements.test.ts',
    title:
      'a page of PostgreSQL reads the animals that it shows and no others, in both directions and with any statistics',
  },
  // Commands and settings
  'an import forgets where it was': {
    file: 'src/cli/import.ts',
    text: 'position: progress.position + piece.byteCount,',
    changed: 'position: piece.byteCount,',
    test: 'src/cli/import-export.test.ts',
    title: 'a JSON array is imported once, and continues where it was stopped',
  },
  'a file with an invalid line is imported in part': {
    file: 'src/cli/import.ts',
    text: '  if (file.invalid > 0 && !isSkipping) {\n    return before',
    changed: '  if (file.invalid > 0 && !isSkipping && before.position > 0) {\n    return before',
    test: 'src/cli/import-export.test.ts',
    title:
      'a file with an invalid line imports nothing, so that the corrected file adds every animal once',
  },
  '--keep removes backups of other stores': {
    file: 'src/cli/dated-backups.ts',
    text: ' &&\n      findStoreId(join(folder, name)) === storeId',
    changed: '',
    test: 'test/process/backup.test.ts',
    title:
      'in a folder a backup has a date in its name, and --keep removes older ones of the same store only',
  },
  'a key of a clock that is ahead ends before it begins': {
    file: 'src/cli/keys.ts',
    text: 'new Date(Math.max(Date.now(), key.createdAt.getTime() + 1))',
    changed: 'new Date()',
    test: 'src/cli/keys.test.ts',
    title: 'a rotated key ends after the overlap, also if a clock that is ahead has created it',
  },
  'a second signal does not end the service': {
    file: 'src/cli/serve.ts',
    text: '    else if (performance.now() - firstMs >= SAME_SIGNAL_MS) endAtOnce();\n',
    changed: '',
    test: 'test/process/drain-delay.test.ts',
    title:
      '--workers 1: after SIGTERM /readyz is 503 and new connections get responses; a second signal ends it',
  },
  'any answer that begins with y removes animals': {
    file: 'src/cli/catalogue.ts',
    text: "return line.trim().toLowerCase() === 'yes';",
    changed: "return line.trim().toLowerCase().startsWith('y');",
    test: 'src/cli/catalogue.test.ts',
    title: 'at a terminal it asks first, and only yes removes',
  },
  'an unknown scope of a key is left out': {
    file: 'src/cli/keys.ts',
    text: 'return wanted.every((scope) => known.some((each) => each === scope)) ? known : undefined;',
    changed: 'return known.length > 0 ? known : undefined;',
    test: 'src/cli/keys.test.ts',
    title: 'a key has the scopes that were named, in whatever order, and an unknown one is refused',
  },
  'a name can steer the terminal': {
    file: 'src/cli/pet-printer.ts',
    text: '        printable(name),',
    changed: '        name,',
    test: 'src/cli/pets.test.ts',
    title: 'a name cannot steer the terminal, and stays exact as JSON',
  },
  'a value that equals a bound is in the next bucket': {
    file: 'src/ops/metrics.ts',
    text: 'while (value > (this.#bounds[bucket]',
    changed: 'while (value >= (this.#bounds[bucket]',
    test: 'src/ops/metrics.unit.test.ts',
    title: 'a value that equals a bound is counted in the bucket of that bound',
  },
  'dropped lines of the log are counted again': {
    file: 'src/ops/log.ts',
    text: '      dropped = 0;\n',
    changed: '',
    test: 'src/ops/log.unit.test.ts',
    title: 'beyond 1 MiB of unread lines, further lines are dropped and counted',
  },
  'the requests of an ended worker are forgotten': {
    file: 'src/ops/exposition.ts',
    text: "['counter', 'histogram'].includes(String(type))",
    changed: "String(type) === 'counter'",
    test: 'src/ops/exposition.unit.test.ts',
    title:
      'the figures of workers are added up; those of an ended one stay only if they count events',
  },
  'the second rotation loses the claims': {
    file: 'src/cli/keys.ts',
    text: '        firstKeyId: key.firstKeyId,\n',
    changed: '        firstKeyId: key.id,\n',
    test: 'src/cli/keys.test.ts',
    title: 'a key that was rotated several times still belongs to the first one, with its claims',
  },
  'a worker that crashes rarely is replaced ever later': {
    file: 'src/cli/worker-pool.ts',
    text: 'livedMs > SETTLED_MS ? 0 : this.#deathsInARow + 1',
    changed: 'this.#deathsInARow + 1',
    test: 'src/cli/worker-pool.test.ts',
    title:
      'a worker is replaced later after each crash in a row, and soon again after a long uptime',
  },
  'an empty variable stops the start': {
    file: 'src/setting.ts',
    text: '    if (text) return',
    changed: '    if (text !== undefined) return',
    test: 'test/process/command-line.test.ts',
    title: 'a variable that is empty counts as not set, as a compose file may leave it',
  },
  // Files of animals
  'an overlong last line is dropped': {
    file: 'src/pet-file/records.ts',
    text: 'start < bytes.length || (isLast && this.#droppedBytes > 0)',
    changed: 'start < bytes.length',
    test: 'src/pet-file/records.unit.test.ts',
    title: 'an overlong last record without a line break is one fault too',
  },
  'a record of several lines counts as one line': {
    file: 'src/pet-file/records.ts',
    text: '(this.#separator === undefined ? 0 : countLines(record)) + breakBytes',
    changed: 'breakBytes',
    test: 'src/pet-file/records.unit.test.ts',
    title: 'a record is named by the line it starts on, however many lines it has',
  },
  'a header with two separators is accepted': {
    file: 'src/pet-file/layout.ts',
    text: '  const mixed = findMixed(separator, headings);\n',
    changed: '  const mixed = findMixed(separator, []);\n',
    test: 'src/pet-file/layout.unit.test.ts',
    title: 'a list is refused as a whole for two separators between the fields that are needed',
  },
  'a lone carriage return is written without quotes': {
    file: 'src/pet-file/csv.ts',
    text: '[",\\r\\n]/',
    changed: '[",\\n]/',
    test: 'src/pet-file/csv.unit.test.ts',
    title: 'a field stands in quotes only where it must',
  },
  // The conformance check
  'a category that is a text conforms': {
    file: 'check/shapes.ts',
    text: "categoryId: { name: 'categoryId', rule: 'an int64 written as a JSON number', holds: isInt64 }",
    changed:
      "categoryId: { name: 'categoryId', rule: 'an int64', holds: (value) => value !== undefined }",
    test: 'check/run.test.ts',
    title: 'a service that sends categories as strings breaks Pet.categoryId',
  },
  'a part of a longer key is left in a report': {
    file: 'check/credentials.ts',
    text: 'other.length - one.length',
    changed: 'one.length - other.length',
    test: 'check/report.unit.test.ts',
    title: 'the report hides the key of each address, in every form that was sent',
  },
  'getPet must exist until the day has ended everywhere': {
    file: 'check/removal.ts',
    text: 'if (now.getTime() >= SERVED_UNTIL) {',
    changed: 'if (now.getTime() >= REMOVED_FROM) {',
    test: 'check/removal.unit.test.ts',
    title:
      'getPet must exist until 5 December 2030 begins anywhere, and not after it has ended everywhere',
  },
  'a filter that loses animals conforms': {
    file: 'check/clauses/list-pets.ts',
    text: '        listed.length >= countMin,',
    changed: '        listed.length > 0 || countMin === 0,',
    test: 'check/clauses.test.ts',
    title: 'a service that hides the oldest animal from filters breaks listPets.status.available',
  },
  // The client library
  'two creates of the same animal have one key': {
    file: 'sdk/src/client.ts',
    text: '{ idempotencyKey = newIdempotencyKey(), signal }',
    changed: '{ idempotencyKey = `${pet.name}-${pet.categoryId}`, signal }',
    test: 'sdk/src/request.test.ts',
    title: 'two creates of the same animal have two keys and make two animals',
  },
  'a page whose next page is itself is a loop': {
    file: 'sdk/src/client.ts',
    text: "        if (nextCursor && nextCursor === cursor) throw new TypeError('The next page is this page.');\n",
    changed: '',
    test: 'sdk/src/client.test.ts',
    title: 'a page whose next page is itself ends in an error, not in a loop',
  },
  'a redirect takes the key to another host': {
    file: 'sdk/src/request.ts',
    text: "redirect: 'manual',",
    changed: "redirect: 'follow',",
    test: 'sdk/src/request.test.ts',
    title: 'a redirect is not followed, so that the key stays with the service',
  },
  'Retry-After is ignored': {
    file: 'sdk/src/request.ts',
    text: 'const waitMs = jitterMs + (error.retryAfterMs ?? 0);',
    changed: 'const waitMs = jitterMs;',
    test: 'sdk/src/request.test.ts',
    title: 'the delay of Retry-After is respected, in seconds and as a date',
  },
  'a link with two relations is not found': {
    file: 'sdk/src/link.ts',
    text: 'relations.toLowerCase().split(/\\s+/).includes(wanted)',
    changed: 'relations.toLowerCase() === wanted',
    test: 'sdk/src/link.unit.test.ts',
    title: 'the next page is found among other links, however they are written',
  },
  'a reversed list follows the next links': {
    file: 'sdk/src/client.ts',
    text: "isReversed ? 'prev' : 'next'",
    changed: "'next'",
    test: 'sdk/src/client.test.ts',
    title: 'toReversed ends at the oldest animal, however many the last page has',
  },
  // Pages
  'a bulk add leaves out animals for a key without the right': {
    file: 'src/web/console/page/bulk.ts',
    text: '= [401, 403, 408, 429];',
    changed: '= [401, 408, 429];',
    test: 'src/web/console/bulk.unit.test.ts',
    title: 'after a 403 a bulk add is paused, and continues with the same animal and another key',
  },
  'a name ends the quotes of a curl command': {
    file: 'src/web/console/page/curl.ts',
    text: "text.replaceAll(\"'\", String.raw`'\\''`)",
    changed: 'text',
    test: 'src/web/console/curl.test.ts',
    title: 'a shell passes every name to curl unchanged and runs no part of it',
  },
  'the page waits for hours': {
    file: 'src/web/console/page/fault.ts',
    text: 'isPassing && retryAfterMs <= WAIT_MS_MAX ?',
    changed: 'isPassing ?',
    test: 'src/web/console/fault.unit.test.ts',
    title: 'an error that passes says how long to wait, and the page waits at most two minutes',
  },
  'a create that is tried again is a second animal': {
    file: 'src/web/console/page/add.ts',
    text: '{ idempotencyKey: this.#idempotencyKey }',
    changed: '{ idempotencyKey: newIdempotencyKey() }',
    test: 'test/web/console.test.ts',
    title: 'console › if the response to a create is lost, trying again stores no second animal',
  },
  'a double click adds two animals': {
    file: 'src/web/console/page/add.ts',
    text: '      if (event.detail > 1) event.preventDefault();\n',
    changed: '',
    test: 'test/web/console.test.ts',
    title:
      'console › a double click adds one animal, even if the response arrives before the second click',
  },
  'a restart is a negative rate': {
    file: 'src/web/monitor/series.ts',
    text: 'Math.max(0, pick(sample) - pick(before)) / seconds',
    changed: '(pick(sample) - pick(before)) / seconds',
    test: 'src/web/monitor/monitor.unit.test.ts',
    title: 'rates are per second, and a count that begins again at 0 is not negative',
  },
  'a text with an unknown value is shown': {
    file: 'src/web/docs/markdown.ts',
    text: 'if (value === undefined) throw new Error(`The text names an unknown value: ${name}`);',
    changed: "if (value === undefined) return '';",
    test: 'src/web/docs/markdown.unit.test.ts',
    title: 'a text that names an unknown value is refused',
  },
  'links of /docs leave a proxy with a prefix': {
    file: 'src/web/docs/markdown.ts',
    text: "${escapeHtml(root + href.slice(1)) || './'}",
    changed: '${escapeHtml(href)}',
    test: 'src/web/docs/markdown.unit.test.ts',
    title:
      'links lead to pages of the site, to other hosts, and to no other file of the repository',
  },
  'the key of /docs is not forgotten': {
    file: 'src/web/docs/page/key.ts',
    text: '      storeKey(undefined);\n',
    changed: '',
    test: 'test/web/docs.test.ts',
    title: 'the key panel refuses what is not a key, and forgets a key',
  },
  'a download of one animal too many is saved': {
    file: 'src/web/console/page/download.ts',
    text: 'lines.length === ANIMALS_MAX',
    changed: 'lines.length > ANIMALS_MAX',
    test: 'src/web/console/download.unit.test.ts',
    title: 'a download has at most 100,000 animals: one more, and no file is saved',
  },
  '"Previous" leads to a wrong page after a long walk': {
    file: 'src/web/console/page/place.ts',
    text: 'place.trail.slice(-TRAIL_LENGTH_MAX)',
    changed: 'place.trail.slice(0, TRAIL_LENGTH_MAX)',
    test: 'test/web/place.test.ts',
    title:
      'console › the history keeps the last 1,000 pages of a walk, so that "Previous" leads to the page before',
  },
  'the address of an older page forgets that the newest come first': {
    file: 'src/web/console/page/place.ts',
    text: 'return isOrderNeeded ?',
    changed: 'return isOrderNeeded && !place.isNewestFirst ?',
    test: 'test/web/place.test.ts',
    title:
      'console › "Newest" begins with the newest animal of the filter, and "Next" leads back to the oldest',
  },
  'the command for an animal of staging is one for production': {
    file: 'src/web/console/page/animal.ts',
    text: "ENVIRONMENT === 'staging' ? ' --env staging' : ''",
    changed: "''",
    test: 'test/web/place.test.ts',
    title: 'console › an open animal has the command that marks it as sold, and as available again',
  },
  'the header has other edges than the cards': {
    file: 'src/web/console/page/style.css',
    text: 'padding: 0.5rem var(--edges);',
    changed: 'padding: 0.5rem clamp(1rem, 3vw, 2rem);',
    test: 'test/web/place.test.ts',
    title:
      'console › at every width, header and cards have the same edges, also at /docs, and "Newest" moves no control',
  },
  'the next page begins out of sight': {
    file: 'src/web/console/page/catalogue.ts',
    text: 'if (isTurn && this.#table.getBoundingClientRect().top < 0) this.#table.scrollIntoView();',
    changed: '',
    test: 'test/web/place.test.ts',
    title:
      'console › the rows, the focus and the scroll position stay while the next page loads or fails, and it is shown from its first row',
  },
  'a success stays beside an error': {
    file: 'src/web/console/page/notice.ts',
    text: '  removeSuccess();\n',
    changed: '',
    test: 'test/web/console.test.ts',
    title:
      'console › the lookup is closed at first, shows its removal date, 5 December 2030, and says if no animal has the id',
  },
  'a name turns the JSON of its animal around': {
    file: 'src/web/console/page/curl.ts',
    text: '/\\p{Bidi_Control}/gu',
    changed: '/\\p{Co}/gu',
    test: 'test/web/place.test.ts',
    title:
      'console › an animal can be opened: it shows all fields, and its id can be copied; for developers, JSON with visible bidi controls and curl',
  },
  'a half of a key is sent to the service': {
    file: 'src/web/console/page/environment.ts',
    text: 'if (text.length === KEY_LENGTH) return',
    changed: 'if (text.length <= KEY_LENGTH) return',
    test: 'test/web/console.test.ts',
    title:
      'console › the error for a wrong key is beside its field, at once if it is incomplete, with the message of the service one click away',
  },
  'a reload offers what the key may not do': {
    file: 'src/web/console/page/workspace.ts',
    text: 'if (access !== undefined) this.#restrict(access);',
    changed: '',
    test: 'test/web/faults.test.ts',
    title:
      'console › 403: without pets:write the form is hidden and the page says why, until another key is used',
  },
  // The commands
  'a bar begins with 0 per second': {
    file: 'src/cli/terminal.ts',
    text: 'if (rate > 0) counts.push',
    changed: 'counts.push',
    test: 'src/cli/terminal.unit.test.ts',
    title: 'a bar for work of unknown size has no share and no time left',
  },
  'a key for 90 days ends in 89 from its first second': {
    file: 'src/cli/terminal.ts',
    text: 'Math.round(-seconds / size)',
    changed: 'Math.floor(-seconds / size)',
    test: 'src/cli/terminal.unit.test.ts',
    title: 'times are told as people say them',
  },
  'the columns of a file to import do not fit the terminal': {
    file: 'src/cli/import-report.ts',
    text: 'columnsAdvice(sample, this.#output.columns)',
    changed: 'columnsAdvice(sample)',
    test: 'src/cli/narrow-terminal.test.ts',
    title: 'every table fits on 60 columns, and what identifies something is whole',
  },
  'health in a container asks the proxy': {
    file: 'src/cli/health.ts',
    text: ' || [host, port].some(({ variable }) => Boolean(variables[variable]))',
    changed: '',
    test: 'src/cli/health.test.ts',
    title: 'PETSTORE_BASE_URL says where to ask, unless an address of this machine is given',
  },
  'the printed lines for zsh fail without compinit': {
    file: 'src/cli/completion.ts',
    text: '  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }\n',
    changed: '',
    test: 'src/cli/completion.test.ts',
    title: 'after the printed lines, a new zsh completes petstore',
  },
  'copy shows EACCES for a store of another user': {
    file: 'src/storage/sqlite/verify.ts',
    text: "  requireAccess(file, 'run this as a user who can read and write it, for example its owner');\n",
    changed: '',
    test: 'test/faults/store-faults.test.ts',
    title:
      'copy and verify refuse a file of another user, and copy a folder of another user, in one line',
  },
  // Documents and files to install
  'a document names another status': {
    file: 'docs/errors.md',
    text: '| `invalid_cursor` | 400 |',
    changed: '| `invalid_cursor` | 404 |',
    test: 'test/project/docs.test.ts',
    title: 'docs/errors.md lists exactly the error codes of the program, with status and meaning',
  },
  'a document names a file that was removed': {
    file: 'docs/decisions.md',
    text: '(`portions.ts`)',
    changed: '(`shared-rate-limit.ts`)',
    test: 'test/project/docs.test.ts',
    title: 'every file name in backticks, in any document of the project, is that of a file',
  },
  'a port of the pods is another': {
    file: 'contrib/kubernetes/deployment.yaml',
    text: 'containerPort: 9464',
    changed: 'containerPort: 9465',
    test: 'test/project/kubernetes.test.ts',
    title: 'the ports of the pods are those of the program, and every other port names one of them',
  },
  'an alert names a metric that does not exist': {
    file: 'contrib/prometheus/rules.yml',
    text: 'increase(petstore_errors_total{code="internal_error"}[1h])',
    changed: 'increase(petstore_error_total{code="internal_error"}[1h])',
    test: 'test/process/metrics.test.ts',
    title: 'every metric in the alerts and in the dashboard is in /metrics',
  },
} as const satisfies Readonly<Record<string, Bug>>;
