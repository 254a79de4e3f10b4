import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { isDeepStrictEqual } from 'node:util';
import { parseJson } from '../../sdk/src/json.ts';

/** One request of Schemathesis with its response. Bodies are in base64. */
interface Interaction {
  request: { method: string; body?: { $base64: string } };
  response?: {
    status_code: number;
    headers: Readonly<Record<string, readonly string[]>>;
    content?: { $base64: string };
  };
}

interface Check {
  name: string;
  status: string;
  failure_info?: { failure: { operation: string; title: string; message: string } };
}

/** A line of the NDJSON report, as far as the drill reads it. */
interface Event {
  ScenarioFinished?: {
    recorder: {
      interactions?: Readonly<Record<string, Interaction>>;
      checks?: Readonly<Record<string, readonly Check[]>>;
    };
  };
  NonFatalError?: unknown;
}

interface SentPet {
  name: string;
  categoryId: bigint;
  status?: string;
}

/** Why the service refuses a request that every schema allows, by the code of the Error. */
const KINDS: Readonly<Record<string, string>> = {
  invalid_cursor: 'an opaque cursor',
  idempotency_key_reused: 'a reused Idempotency-Key with another body',
  unknown_field: 'Prefer: handling=strict with unknown fields',
  unknown_parameter: 'Prefer: handling=strict with unknown parameters',
};

/** What the reports of several runs against one store say. */
export class FuzzReport {
  requests = 0;
  readonly violations: string[] = [];
  readonly kinds = new Map<string, number>();
  readonly #ids = new Set<bigint>();

  async read(file: string): Promise<void> {
    for await (const line of createInterface({ input: createReadStream(file) })) {
      const { ScenarioFinished: finished, NonFatalError: error } = JSON.parse(line) as Event;
      if (error !== undefined) this.violations.push(`Schemathesis: ${JSON.stringify(error)}`);
      const { interactions = {}, checks = {} } = finished?.recorder ?? {};
      for (const [id, interaction] of Object.entries(interactions)) {
        this.requests += 1;
        this.#compareCreate(interaction);
        for (const check of checks[id] ?? []) this.#judge(check, interaction);
      }
    }
  }

  /** A failed check must be of a named kind. */
  #judge({ name, status, failure_info: info }: Check, interaction: Interaction): void {
    if (status !== 'failure') return;
    const kind = name === 'positive_data_acceptance' ? kindOf(interaction) : undefined;
    if (kind !== undefined) {
      this.kinds.set(kind, (this.kinds.get(kind) ?? 0) + 1);
      return;
    }
    const { operation, title, message } = info?.failure ?? {};
    const received = textOf(interaction.response?.content);
    this.violations.push(`${operation}: ${name}: ${title}: ${message}; ${received}`);
  }

  /** A new animal is what was sent, and has an id of its own. */
  #compareCreate({ request, response }: Interaction): void {
    if (response?.status_code !== 201) return;
    const sent = parseJson(textOf(request.body)) as SentPet;
    const { id, ...created } = parseJson(textOf(response.content)) as SentPet & { id: bigint };
    const { name, categoryId, status = 'available' } = sent;
    if (!isDeepStrictEqual(created, { name, categoryId, status })) {
      this.violations.push(`the animal ${id} is not what was sent: ${textOf(request.body)}`);
    }
    if (response.headers['idempotency-replayed'] !== undefined) return;
    if (this.#ids.has(id)) this.violations.push(`the id ${id} was assigned twice`);
    this.#ids.add(id);
  }

  get creates(): number {
    return this.#ids.size;
  }
}

function kindOf({ request, response }: Interaction): string | undefined {
  const { code } = JSON.parse(textOf(response?.content)) as { code: string };
  if (code !== 'invalid_field') return KINDS[code];
  const { name } = JSON.parse(textOf(request.body)) as { name?: unknown };
  const isLone = typeof name === 'string' && !name.isWellFormed();
  return isLone ? 'a name with a lone surrogate' : undefined;
}

function textOf(content: { $base64: string } | undefined): string {
  return Buffer.from(content?.$base64 ?? '', 'base64').toString();
}
