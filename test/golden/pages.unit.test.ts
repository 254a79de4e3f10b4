// What the pages that the service makes from its own tables say: one line per heading, field, control and sample of a
// response, with the attributes that matter to a reader or a script. The samples in languages are run by test/web/samples.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from '../../src/http/pages.ts';
import type { DocumentedService } from '../../src/web/docs/contents.ts';
import { docsPages } from '../../src/web/docs/pages.ts';
import { Recording } from './recording.ts';

const SERVICE: DocumentedService = {
  baseUrl: 'https://pets.example/api/v1',
  linkBase: 'https://pets.example/api/v1',
  environment: 'production',
  rateLimit: undefined,
};
const SAMPLE = /<div class="code" data-copy.*?<\/pre><\/div>/gs;
const BLOCK =
  /<(h\d|dt|dd|p|pre|form|fieldset|section|label|option|input|select|textarea)\b([^>]*)>/g;
const ATTRIBUTE =
  / (id|name|value|data-method|data-in|aria-label|class)="([^"]*)"| (required|checked|hidden)\b/g;
const CHARACTERS: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', amp: '&' };

const docs = new Map(docsPages(SERVICE));

const readBody = async () => Buffer.alloc(0);

async function textOf(path: string): Promise<string> {
  const page: Page = docs.get(path) ?? assert.fail(path);
  return (await page({ method: 'GET', target: path, headers: {}, readBody })).body;
}

/** The words of a page with the places where something begins. */
function outlineOf(html: string): string[] {
  const [, article = ''] = /<article>(.*)<\/article>/s.exec(html) ?? [];
  const text = article
    .replaceAll(SAMPLE, '')
    .replaceAll(/<a [^>]*href="([^"]*)"[^>]*>/g, '($1) ')
    .replaceAll(BLOCK, (_, tag: string, attributes: string) => {
      const kept = [...attributes.matchAll(ATTRIBUTE)].map(([each]) => each.trim());
      return `\n${[tag, ...kept].join(' ')}: `;
    })
    .replaceAll(/<[^>]+>/g, '')
    .replaceAll(/&(\w+);/g, (_, name: string) => CHARACTERS[name] ?? `&${name};`);
  const lines = text.split('\n').map((line) => line.trimEnd());
  return lines.filter((line) => !['', 'label:'].includes(line)).map((line) => `  ${line}`);
}

type Section = [id: string, title: string, terms: string];

async function searchedIn(title: string): Promise<string[]> {
  const index = JSON.parse(await textOf('/docs/search.json')) as {
    title: string;
    sections: Section[];
  }[];
  const sections = index.find((page) => page.title === title)?.sections ?? [];
  return sections.map((section) => `  ${section.join(' | ')}`);
}

const PAGES: Readonly<Record<string, () => Promise<string[]>>> = {
  'the reference has each operation with its fields, its errors, the form to try it and an example of each response':
    async () => outlineOf(await textOf('/docs/reference')),
  'the search knows the operations by their parameters, errors and text, and not by their samples':
    () => searchedIn('API reference'),
  'the search knows each error by its code and its meaning': () => searchedIn('Errors'),
};

const recording = new Recording(new URL('pages.txt', import.meta.url), () => false);

test('every page of pages.txt is one of these', () => {
  assert.deepEqual(
    recording.blocks.map(({ title }) => title),
    Object.keys(PAGES),
  );
});

for (const block of recording.blocks) {
  test(block.title, async () => {
    recording.check(block, (await PAGES[block.title]?.()) ?? []);
  });
}
