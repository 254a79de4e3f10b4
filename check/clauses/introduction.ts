import type { Clause } from '../clause.ts';
import { expectAdded, expectThat } from '../expect.ts';
import { Broken, NotCheckable } from '../verdict.ts';

const section = 'Introduction';
const JSON_TYPE = /^application\/json\s*(?:;|$)/i;

export const INTRODUCTION: Clause[] = [
  {
    kind: 'service',
    id: 'base-address.v1',
    section,
    sentence: '{base_url} includes the path prefix /v1.',
    writes: false,
    check: ({ subject }) => {
      if (new URL(subject.base).pathname.endsWith('/v1')) return;
      const { origin } = new URL(subject.base);
      throw new Broken(
        { request: 'none', response: `the base address given is ${subject.base}` },
        `a base address that ends in /v1, such as ${origin}/v1`,
      );
    },
  },
  {
    kind: 'service',
    id: 'bodies.requests',
    section,
    sentence: 'All request bodies are JSON: white space and escapes mean what JSON says they mean.',
    writes: true,
    check: async (service) => {
      const name = service.nameOf('escapes');
      const escaped = name.replaceAll('e', String.raw`\u0065`);
      const categoryId = await service.categoryId();
      const body = `\r\n{ "categoryId" :\t${categoryId},\n "name": "${escaped}" ,"status":"sold"}\n`;
      expectAdded(await service.create(body), { name });
    },
  },
  {
    kind: 'service',
    id: 'bodies.responses',
    section,
    sentence: 'All response bodies are JSON (application/json).',
    writes: false,
    afterwards: true,
    check: ({ client }) => {
      const responses = client.exchanges.filter(({ text }) => text !== '');
      if (responses.length === 0)
        throw new NotCheckable('no response had a body that could be read');
      for (const exchange of responses) {
        const { contentType = '', body } = exchange;
        expectThat(JSON_TYPE.test(contentType), exchange, 'Content-Type: application/json');
        expectThat(body !== undefined, exchange, 'a body that is JSON in UTF-8');
      }
    },
  },
];
