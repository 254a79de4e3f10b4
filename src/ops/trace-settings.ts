/** How traces are made and where they are sent. */
export interface TraceSettings {
  /** The URL that takes traces. Ends in /v1/traces. */
  url: string;
  headers: Readonly<Record<string, string>>;
  serviceName: string;
  resourceAttributes: Readonly<Record<string, string>>;
  sampler: Sampler;
  /** The share of traces that a sampler by ratio takes, from 0 to 1. */
  samplerRatio: number;
}

export const OTLP_PROTOCOL = 'http/protobuf';

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
type Sampler = (typeof SAMPLERS)[number];

/** The variables that OpenTelemetry defines. Traces are made only if the endpoint is given. */
export const TRACE_SETTINGS = {
  'otlp-endpoint': {
    variable: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    value: 'URL',
    defaultText: 'no traces',
    description: 'the OpenTelemetry collector that traces are sent to',
    valueOrUndefined: endpointOrUndefined,
    right: 'an http or https address without a password, such as http://127.0.0.1:4318',
    // An address with a password is not valid, but it must not be repeated either.
    isSecret: true,
  },
  'otlp-headers': {
    variable: 'OTEL_EXPORTER_OTLP_HEADERS',
    value: 'NAME=VALUE,…',
    defaultText: 'none',
    description: 'the headers that the collector needs, such as an authorization',
    valueOrUndefined: headersOrUndefined,
    right: 'headers such as authorization=Basic%20cGV0, separated by commas and percent-encoded',
    isSecret: true,
  },
  'service-name': {
    variable: 'OTEL_SERVICE_NAME',
    value: 'NAME',
    default: 'petstore',
    description: 'the name of this service in traces',
    valueOrUndefined: (text: string) => text || undefined,
    right: 'a name',
  },
  'resource-attributes': {
    variable: 'OTEL_RESOURCE_ATTRIBUTES',
    value: 'NAME=VALUE,…',
    defaultText: 'none',
    description: 'what else traces say of this service',
    valueOrUndefined: pairsOrUndefined,
    right: 'attributes such as service.namespace=shop, separated by commas and percent-encoded',
  },
  'trace-sampler': {
    variable: 'OTEL_TRACES_SAMPLER',
    value: 'SAMPLER',
    default: 'parentbased_always_on',
    description: 'which requests are traced',
    choices: SAMPLERS,
    valueOrUndefined: (text: string) => SAMPLERS.find((each) => each === text),
    right: `one of ${SAMPLERS.join(', ')}`,
  },
  'trace-sampler-arg': {
    variable: 'OTEL_TRACES_SAMPLER_ARG',
    value: 'RATIO',
    default: '1',
    description: 'the share of requests that a traceidratio sampler takes',
    valueOrUndefined: ratioOrUndefined,
    right: 'a number from 0 to 1, such as 0.05',
  },
};

function endpointOrUndefined(text: string): string | undefined {
  const href = URL.parse(text)?.href ?? '';
  if (!/^https?:\/\/[^?#@]+$/.test(href)) return undefined;
  return `${href.replace(/\/$/, '')}/v1/traces`;
}

const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e]*$/;

function headersOrUndefined(text: string): Record<string, string> | undefined {
  const headers = pairsOrUndefined(text);
  const isValid = Object.entries(headers ?? {}).every(
    ([name, value]) => HEADER_NAME.test(name) && HEADER_VALUE.test(value),
  );
  return isValid ? headers : undefined;
}

/** Reads `name=value,name=value`. Names and values are percent-encoded. */
function pairsOrUndefined(text: string): Record<string, string> | undefined {
  try {
    const pairs = text.split(',').map((pair) => {
      const [, name = '', value = ''] = /^([^=]+)=(.*)$/.exec(pair) ?? [];
      return [decodeURIComponent(name.trim()), decodeURIComponent(value.trim())] as const;
    });
    return pairs.every(([name]) => name !== '') ? Object.fromEntries(pairs) : undefined;
  } catch {
    return undefined;
  }
}

function ratioOrUndefined(text: string): number | undefined {
  return /^(?:0?\.\d{1,9}|[01](?:\.0*)?)$/.test(text) ? Number(text) : undefined;
}
