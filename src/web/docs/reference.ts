import { ERRORS, INTERFACE_ERROR_CODES, type ErrorCode } from '../../domain/errors.ts';
import { NewPet, Pet } from '../../domain/pet.ts';
import { STATUS_CODES } from '../../http/wire/node-http.ts';
import type { Operation, Parameter } from '../../http/operation.ts';
import { deprecationHeaders, operations, RESPONSE_HEADERS } from '../../http/operations.ts';
import { escapeHtml, heading, tabs, type Tab } from '../html.ts';
import { codeBlock } from './code-block.ts';
import type { Markdown, Rendered, Section } from './markdown.ts';
import { fieldList, fieldsOf, type Field, type Schema } from './field-table.ts';
import { tryForm } from './try-form.ts';

interface Sources {
  /** The text before the operations and, below the first rule, the text after them. */
  source: string;
  operationTexts: Readonly<Record<string, string>>;
  /** What the links of the example responses begin with. */
  linkBase: string;
}

/** Parameters of every operation are listed once, below the operations. */
const isShared = ({ name }: Parameter): boolean =>
  operations.every(({ parameters }) => parameters.some((each) => each.name === name));
const SHARED_PARAMETERS = operations[0]?.parameters.filter(isShared) ?? [];

/** The codes that no operation lists as its own. */
const SHARED_ERRORS = INTERFACE_ERROR_CODES.filter((code) =>
  operations.every(({ errors }) => !errors.includes(code)),
);

export function renderReference(markdown: Markdown, sources: Sources): Rendered {
  const [before = '', after = ''] = sources.source.split('\n---\n');
  const first = markdown.render(before);
  const last = markdown.render(after);
  return {
    html: [
      first.html,
      petObject(markdown),
      ...operations.map((operation) => operationHtml(markdown, operation, sources)),
      everyRequest(markdown),
      last.html,
    ].join(''),
    intro: first.intro,
    sections: [
      ...first.sections,
      section('pet', 'The animal', ['Pet', ...Object.keys(Pet.properties)]),
      ...operations.map((operation) =>
        operationSection(markdown, operation, sources.operationTexts[operation.id] ?? ''),
      ),
      section('every-request', 'Every request', [
        ...SHARED_PARAMETERS.map(({ name }) => name),
        ...Object.keys(RESPONSE_HEADERS),
        ...SHARED_ERRORS,
      ]),
      ...last.sections,
    ],
  };
}

/** Where the page has tables, the search shows a list of terms. */
function section(id: string, title: string, terms: string[], prose = ''): Section {
  return { id, title, depth: 2, text: `${prose} ${terms.join(', ')}`.trim() };
}

function operationSection(markdown: Markdown, operation: Operation, text: string): Section {
  const { id, method, path, summary, description, parameters, errors } = operation;
  const names = parameters.map(({ name }) => name);
  const prose = markdown.render(`${description}\n\n${text.slice(0, text.indexOf('```'))}`).intro;
  return section(id, summary, [`${method} ${path}`, id, ...names, ...errors], prose);
}

function petObject(markdown: Markdown): string {
  const inline = (text: string) => markdown.inline(text);
  return columns(
    heading(2, 'pet', 'The animal') +
      '<p>Every operation returns animals as <code>Pet</code> objects. An integer is exact: the service returns the digits that were sent.</p>' +
      fieldList(
        fieldsOf(Pet).map((field) => ({ ...field, isRequired: false })),
        inline,
      ),
    codeBlock({ label: 'A Pet', code: pretty(Pet.examples[0]), isCopied: false, language: 'json' }),
  );
}

function operationHtml(markdown: Markdown, operation: Operation, sources: Sources): string {
  const { id, method, path, summary, description, scope, deprecation, body } = operation;
  const inline = (text: string) => markdown.inline(text);
  const text = sources.operationTexts[id] ?? '';
  const chip = deprecation === undefined ? '' : ' <span class="chip deprecated">Deprecated</span>';
  const own = operation.parameters.filter((parameter) => !isShared(parameter));
  const groups = (['path', 'query', 'header'] as const).flatMap((place) => {
    const those = own.filter((parameter) => parameter.in === place).map(fieldOf);
    return those.length === 0 ? [] : [`<h3>${PLACES[place]}</h3>`, fieldList(those, inline)];
  });
  return columns(
    [
      heading(2, id, `${summary} <code class="operation-id">${id}</code>${chip}`),
      `<p class="route"><span class="method">${method}</span> <code>${escapeHtml(path)}</code> <span class="small">requires <code>${scope}</code></span></p>`,
      `<p>${inline(description)}</p>`,
      markdown.render(text.slice(0, text.indexOf('```'))).html,
      ...(body === undefined ? [] : ['<h3>Body</h3>', fieldList(fieldsOf(NewPet), inline)]),
      ...groups,
      '<h3>Errors</h3>',
      errorTable(operation.errors),
    ].join(''),
    [
      markdown.samples(markdown.samplesIn(text)),
      exampleResponses(operation, sources.linkBase),
      tryForm(operation),
    ].join(''),
    deprecation === undefined ? '' : 'is-deprecated',
  );
}

const PLACES = { path: 'Path', query: 'Query', header: 'Headers' } as const;

function fieldOf({ name, schema, description, in: place }: Parameter): Field {
  return { name, schema, description, isRequired: place === 'path' };
}

const byStatus = (a: ErrorCode, b: ErrorCode): number => ERRORS[a].status - ERRORS[b].status;

function errorTable(codes: readonly ErrorCode[]): string {
  const rows = codes.toSorted(byStatus).map((code) => {
    const { status, meaning } = ERRORS[code];
    return `<dt><span class="status">${status}</span> <a href="errors#${code}"><code>${code}</code></a></dt><dd>${escapeHtml(meaning)}</dd>`;
  });
  return `<dl class="codes">${rows.join('\n')}</dl>\n`;
}

/** One tab per status: each success, and the first of the operation's own errors per status. */
function exampleResponses(operation: Operation, linkBase: string): string {
  const { id, responses, errors } = operation;
  const shared = lines(deprecationHeaders(operation, linkBase));
  const successes = Object.entries(responses).map(([status, { schema, headers }]) => {
    const named = headers.filter((name) => !OCCASIONAL_HEADERS[status]?.includes(name));
    const head = [...named.map((name) => headerLine(name, Number(status), linkBase)), ...shared];
    return responseTab(Number(status), head, pretty(exampleOf(schema)));
  });
  const byNumber = Map.groupBy(errors.toSorted(byStatus), (code) => ERRORS[code].status);
  const failures = [...byNumber].map(([status, [code = 'internal_error']]) => {
    const head = [headerLine('Cache-Control', status, linkBase), ...shared];
    return responseTab(status, head, pretty({ code, message: ERRORS[code].meaning, status }));
  });
  return tabs({
    id: `responses-${id}`,
    kind: 'responses',
    legend: 'Example responses',
    tabs: [...successes, ...failures],
  });
}

function responseTab(status: number, headers: readonly string[], body: string): Tab {
  const type = body === '' ? [] : ['Content-Type: application/json'];
  const head = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...type, ...headers];
  const code = body === '' ? head : [...head, '', body];
  return {
    label: String(status),
    value: String(status),
    html: codeBlock({
      label: `Response ${status}`,
      code: code.join('\n'),
      isCopied: false,
      language: 'http',
    }),
  };
}

/** By status: headers that are sent only in response to a special request. */
const OCCASIONAL_HEADERS: Readonly<Record<string, readonly string[]>> = {
  201: ['Idempotency-Replayed', 'Link'],
};
const EXAMPLE_BASE_URL = 'http://127.0.0.1:8080/v1';

function headerLine(name: string, status: number, linkBase: string): string {
  const isKept = status === 200 || status === 304;
  if (name === 'Cache-Control' && !isKept) return `${name}: no-store`;
  const example = RESPONSE_HEADERS[name]?.example ?? '';
  return `${name}: ${example.replaceAll(EXAMPLE_BASE_URL, linkBase)}`;
}

/** Takes a flat list of names and values, as node:http does. */
function lines(headers: readonly string[]): string[] {
  return headers.flatMap((name, index) =>
    index % 2 === 0 ? [`${name}: ${headers[index + 1]}`] : [],
  );
}

function everyRequest(markdown: Markdown): string {
  const inline = (text: string) => markdown.inline(text);
  const headers = Object.entries(RESPONSE_HEADERS).map(
    ([name, { description }]) => `<dt><code>${name}</code></dt><dd>${inline(description)}</dd>`,
  );
  return columns(
    [
      heading(2, 'every-request', 'Every request'),
      '<p>These headers and errors are the same for all operations.</p>',
      '<h3>Request headers</h3>',
      fieldList(
        [
          {
            name: 'Authorization',
            schema: { type: 'string' },
            description: '`Bearer <API_KEY>`. See [Authentication](/docs/authentication).',
            isRequired: true,
          },
          ...SHARED_PARAMETERS.map(fieldOf),
        ],
        inline,
      ),
      '<h3>Errors</h3>',
      errorTable(SHARED_ERRORS),
    ].join(''),
    `<h3>Response headers</h3><dl class="fields">${headers.join('\n')}</dl>`,
  );
}

function columns(left: string, right: string, kind = ''): string {
  return `<section class="columns ${kind}"><div>${left}</div><div class="aside">${right}</div></section>\n`;
}

function exampleOf(schema: Schema | undefined): unknown {
  return schema?.examples?.[0];
}

function pretty(value: unknown): string {
  return value === undefined ? '' : JSON.stringify(value, null, 2);
}
