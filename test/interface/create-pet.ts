import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { anyCharacter } from '../../harness/any-character.ts';
import type { ErrorCode } from '../../src/domain/errors.ts';
import { listAll } from '../../harness/client.ts';
import {
  startTestService,
  type Sent,
  type TestService,
  type TestStorage,
} from '../../harness/test-service.ts';
import { assertError } from './errors.ts';

const REX = '{"name":"Rex","categoryId":7}';
const KIB = 1024;

function padded(bytes: number): string {
  return `${REX.slice(0, -1)}${' '.repeat(bytes - REX.length)}}`;
}

export function createPetTests(storage: TestStorage): void {
  describe(`POST /v1/pets on ${storage.name}`, { concurrency: false }, () => {
    let service: TestService;
    const post = (body: string | Buffer, sent: Sent = {}) =>
      service.send('/pets', { method: 'POST', body, ...sent });
    /** The number of stored animals. */
    const count = async () => (await listAll(service)).length;

    before(async () => {
      service = await startTestService(storage);
    });
    after(() => service.close());

    test('201 with the animal, its id, the default status and a Location', async () => {
      const created = await post(REX);
      assert.equal(created.status, 201);
      assert.equal(created.text, '{"id":1,"name":"Rex","categoryId":7,"status":"available"}');
      assert.equal(created.headers['content-type'], 'application/json');
      assert.equal(created.headers['location'], '/v1/pets/1');
      assert.equal((await service.send('/pets/1')).text, created.text);
    });

    for (const digits of [
      '9223372036854775807',
      '-9223372036854775808',
      '9007199254740993',
      '0',
      '-1',
    ]) {
      test(`create, list and get return categoryId ${digits} with the same digits`, async () => {
        const created = await post(`{"name":"Exact","categoryId":${digits},"status":"sold"}`);
        const id = /"id":(\d+)/.exec(created.text)?.[1];
        const expected = `{"id":${id},"name":"Exact","categoryId":${digits},"status":"sold"}`;
        assert.equal(created.text, expected);
        assert.equal((await service.send(`/pets/${id}`)).text, expected);
        assert.ok((await service.send('/pets?limit=100&status=sold')).text.includes(expected));
      });
    }

    test('categoryId 1.0 and 1e2 are integers, as in JSON Schema', async () => {
      assert.match((await post('{"name":"a","categoryId":1.0}')).text, /"categoryId":1,/);
      assert.match((await post('{"name":"a","categoryId":1e2}')).text, /"categoryId":100,/);
    });

    test('a name with any characters is returned exactly as sent', async () => {
      const characters = fc.string({ unit: anyCharacter, minLength: 1, maxLength: 255 });
      await fc.assert(
        fc.asyncProperty(
          characters.filter((name) => !name.includes('\0')),
          async (name) => {
            const created = await post(JSON.stringify({ name, categoryId: 1 }));
            assert.equal(created.status, 201, created.text);
            const { id, name: returned } = created.json() as { id: number; name: string };
            assert.equal(returned, name);
            const found = (await service.send(`/pets/${id}`)).json() as { name: string };
            assert.equal(found.name, name);
          },
        ),
        { numRuns: 30 },
      );
    });

    test('a name of 255 characters beyond U+FFFF is accepted, and 400 with one more', async () => {
      const longest = JSON.stringify({ name: '🐢'.repeat(255), categoryId: 1 });
      assert.equal((await post(longest)).status, 201);
      const tooLong = JSON.stringify({ name: '🐢'.repeat(256), categoryId: 1 });
      assertError(await post(tooLong), 'invalid_field', /name .*255/);
    });

    const refused: [why: string, body: string | Buffer, code: ErrorCode, message: RegExp][] = [
      ['no name', '{"categoryId":1}', 'missing_field', /name is missing/],
      ['no categoryId', '{"name":"a"}', 'missing_field', /categoryId is missing/],
      [
        'no name and no categoryId',
        '{}',
        'missing_field',
        /name is missing.*categoryId is missing/,
      ],
      ['a null name', '{"name":null,"categoryId":1}', 'invalid_field', /name must/],
      ['a number as name', '{"name":5,"categoryId":1}', 'invalid_field', /name must/],
      ['an empty name', '{"name":"","categoryId":1}', 'invalid_field', /name must/],
      ['U+0000 in the name', '{"name":"a\\u0000b","categoryId":1}', 'invalid_field', /U\+0000/],
      [
        'a lone surrogate in the name',
        '{"name":"a\\ud800b","categoryId":1}',
        'invalid_field',
        /surrogate/,
      ],
      [
        'categoryId 2^63',
        '{"name":"a","categoryId":9223372036854775808}',
        'invalid_field',
        /categoryId must/,
      ],
      [
        'categoryId -2^63-1',
        '{"name":"a","categoryId":-9223372036854775809}',
        'invalid_field',
        /categoryId must/,
      ],
      ['categoryId 1.5', '{"name":"a","categoryId":1.5}', 'invalid_field', /categoryId must/],
      ['categoryId 1e400', '{"name":"a","categoryId":1e400}', 'invalid_field', /categoryId must/],
      [
        'categoryId 1e999999999',
        '{"name":"a","categoryId":1e999999999}',
        'invalid_field',
        /categoryId must/,
      ],
      ['categoryId "1"', '{"name":"a","categoryId":"1"}', 'invalid_field', /categoryId must/],
      ['a null categoryId', '{"name":"a","categoryId":null}', 'invalid_field', /categoryId must/],
      ['true as categoryId', '{"name":"a","categoryId":true}', 'invalid_field', /categoryId must/],
      [
        'an unknown status',
        '{"name":"a","categoryId":1,"status":"lost"}',
        'invalid_field',
        /status must be one of available, pending, sold/,
      ],
      [
        'a null status',
        '{"name":"a","categoryId":1,"status":null}',
        'invalid_field',
        /status must/,
      ],
      [
        'a number as status',
        '{"name":"a","categoryId":1,"status":1}',
        'invalid_field',
        /status must/,
      ],
      [
        'three invalid fields',
        '{"name":"","status":"x"}',
        'missing_field',
        /categoryId.*name.*status/,
      ],
      ['an array as body', '[]', 'invalid_json', /object/],
      ['a string as body', '"x"', 'invalid_json', /object/],
      ['null as body', 'null', 'invalid_json', /object/],
      ['a number as body', '12', 'invalid_json', /object/],
      ['an empty body', '', 'invalid_json', /empty/],
      [
        'truncated JSON',
        '{"name":"a","categ',
        'invalid_json',
        /line 1, column 19: unterminated string/,
      ],
      [
        'two JSON documents',
        `${REX}${REX}`,
        'invalid_json',
        /column 30: unexpected non-whitespace/,
      ],
      [
        'a trailing comma',
        '{"name":"a",\n"categoryId":1,}',
        'invalid_json',
        /line 2, column 16: expected double-quoted/,
      ],
      ['single quotes', "{'name':'a'}", 'invalid_json', /column 2: expected property name/],
      ['an unquoted key', '{name:"a"}', 'invalid_json', /column 2: expected property name/],
      [
        'a form as JSON',
        'name=a&categoryId=1',
        'invalid_json',
        /send an object such as {"name":"Rex","categoryId":7}/,
      ],
      [
        'invalid UTF-8',
        Buffer.from([...Buffer.from('{"name":"'), 0xff, 0xfe, ...Buffer.from('","categoryId":1}')]),
        'invalid_json',
        /UTF-8/,
      ],
      ['60 KiB of brackets', '['.repeat(60 * KIB), 'invalid_json', /JSON|nested/],
    ];
    for (const [why, body, code, message] of refused) {
      test(`400 ${code} for ${why}, and nothing is stored`, async () => {
        const countBefore = await count();
        assertError(await post(body), code, message);
        assert.equal(await count(), countBefore);
      });
    }

    test('unknown fields, including an id, are ignored and not stored', async () => {
      const created = await post('{"id":77777,"colour":"red","name":"Rex","categoryId":7}');
      assert.equal(created.status, 201);
      assert.match(
        created.text,
        /^\{"id":\d{1,4},"name":"Rex","categoryId":7,"status":"available"\}$/,
      );
    });

    test('400 with the names of unknown fields for Prefer: handling=strict', async () => {
      const strict = { headers: { prefer: 'handling=strict' } };
      const refusal = await post('{"id":77777,"colour":"red","name":"Rex","categoryId":7}', strict);
      assertError(refusal, 'unknown_field', /id.*colour/);
      assert.equal((await post(REX, strict)).status, 201);
    });

    test('the message repeats unknown names by whole characters, as well-formed text', async () => {
      const strict = { headers: { prefer: 'handling=strict' } };
      const long = `a${'🐶'.repeat(50)}`;
      const body = `{"${long}":1,"lone \\ud800":2,"name":"Rex","categoryId":7}`;
      const refusal = await post(body, strict);
      assertError(refusal, 'unknown_field');
      const { message } = JSON.parse(refusal.text) as { message: string };
      assert.ok(message.isWellFormed());
      assert.ok(message.includes(`a${'🐶'.repeat(39)}, lone \uFFFD;`), message);
    });

    test('inherited properties do not count as fields of the body', async () => {
      assertError(await post('{"__proto__":{"name":"a","categoryId":1}}'), 'missing_field');
      assert.equal(
        (await post('{"name":"a","categoryId":1,"__proto__":{"status":"sold"}}')).status,
        201,
      );
    });

    for (const type of [
      'application/json',
      'APPLICATION/JSON',
      'application/json; charset=utf-8',
      'application/json;charset="UTF-8"',
      'application/json; charset=utf8',
      'application/json; charset=utf-8 ; version=1',
      '',
    ]) {
      test(`Content-Type ${type || '(none)'} is accepted`, async () => {
        assert.equal((await post(REX, { headers: { 'content-type': type } })).status, 201);
      });
    }
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/json; charset=latin1',
      'application/json; charset=utf-8x',
      'application/jsonx',
      'multipart/form-data',
    ]) {
      test(`415 for Content-Type ${type}, and nothing is stored`, async () => {
        const countBefore = await count();
        const refusal = await post(REX, { headers: { 'content-type': type } });
        assertError(refusal, 'unsupported_media_type');
        assert.ok(refusal.text.includes(type), 'the message names the type that was received');
        assert.equal(refusal.text.includes('with curl'), type.endsWith('urlencoded'));
        assert.equal(refusal.headers['accept-post'], 'application/json');
        assert.equal(await count(), countBefore);
      });
    }

    test('400 for a byte order mark, which the message names', async () => {
      assertError(await post(`\uFEFF${REX}`), 'invalid_json', /byte order mark/);
    });

    test('415 for a gzip body; Content-Encoding identity is accepted', async () => {
      const gzip = { headers: { 'content-encoding': 'gzip' } };
      assertError(await post(gzipSync(REX), gzip), 'unsupported_media_type');
      assert.equal((await post(REX, { headers: { 'content-encoding': 'identity' } })).status, 201);
    });

    for (const [how, headers] of [
      ['with Content-Length', {}],
      ['chunked', { 'transfer-encoding': 'chunked' }],
    ] as const) {
      test(`413 when the body is over 64 KiB (${how}), and nothing is stored`, async () => {
        const countBefore = await count();
        assertError(await post(padded(64 * KIB + 1), { headers }), 'body_too_large', /65536/);
        assert.equal(await count(), countBefore);
        assert.equal((await post(padded(64 * KIB), { headers })).status, 201);
      });
    }

    test('ids begin at 1 and are unique, also for concurrent creates', async (t) => {
      const empty = await startTestService(storage);
      t.after(() => empty.close());
      const create = async () =>
        Number(
          /"id":(\d+)/.exec((await empty.send('/pets', { method: 'POST', body: REX })).text)?.[1],
        );
      const first = await create();
      const together = await Promise.all(Array.from({ length: 50 }, create));
      const last = await create();
      assert.equal(first, 1);
      assert.equal(new Set(together).size, 50);
      assert.ok(
        together.every((id) => id > first && id < last),
        `${together.join()} before ${last}`,
      );
    });
  });
}
