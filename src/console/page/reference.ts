import { byId, element } from './dom.ts';
import { BASE_URL, storedKey } from './session.ts';

/** The part of Swagger UI that is used here. Swagger UI is loaded as a separate script. */
interface Reference {
  preauthorizeApiKey(scheme: string, key: string): void;
}

interface System {
  React: { createElement: (component: unknown, props: object, ...children: unknown[]) => unknown };
  getComponent: (name: string, isContainer?: boolean) => unknown;
}

interface ResponseBodyProps {
  content: unknown;
  contentType?: string;
}

interface CurlProps {
  /** The request that was sent, as an immutable map. */
  request: { setIn: (path: string[], value: string) => unknown };
}

declare const SwaggerUIBundle: (options: object) => Reference;

/** Swagger UI would round large numbers. This shows each response with its original digits. */
const exactAnswers = {
  wrapComponents: {
    responseBody: (original: unknown, { React, getComponent }: System) => {
      return function ResponseBody(props: ResponseBodyProps): unknown {
        const { content, contentType = '' } = props;
        if (typeof content !== 'string' || !contentType.startsWith('application/json')) {
          return React.createElement(original, props);
        }
        const highlighted = getComponent('HighlightCode', true);
        return React.createElement(highlighted, { language: 'json' }, indentJson(content));
      };
    },
  },
};

/** Removes the key from the curl command that Swagger UI shows, because people share such commands. */
const keylessCommands = {
  wrapComponents: {
    curl: (original: unknown, { React }: System) => {
      return function Curl(props: CurlProps): unknown {
        const request = props.request.setIn(['headers', 'Authorization'], 'Bearer <API_KEY>');
        return React.createElement(original, { ...props, request });
      };
    },
  },
};

/** Indents JSON and changes nothing else. */
function indentJson(text: string): string {
  let depth = 0;
  const line = (): string => `\n${'  '.repeat(depth)}`;
  return text.replaceAll(/"(?:[^"\\]|\\.)*"|\[\s*\]|\{\s*\}|[[\]{}:,]|\s+/g, (token) => {
    if (token === '{' || token === '[') {
      depth += 1;
      return token + line();
    }
    if (token === '}' || token === ']') {
      depth -= 1;
      return line() + token;
    }
    if (token === ',') return token + line();
    if (token === ':') return ': ';
    return token.trim() === '' ? '' : token;
  });
}

async function open(): Promise<void> {
  const response = await fetch('openapi.json');
  const spec = (await response.json()) as { servers: unknown };
  // The page may have another address than the document names. Requests go to the page's own.
  spec.servers = [{ url: BASE_URL, description: 'This service' }];
  const reference = SwaggerUIBundle({
    spec,
    dom_id: '#reference',
    deepLinking: true,
    displayRequestDuration: true,
    docExpansion: 'list',
    defaultModelsExpandDepth: 0,
    tryItOutEnabled: true,
    validatorUrl: null,
    plugins: [exactAnswers, keylessCommands],
    onComplete: () => {
      const key = storedKey();
      if (key !== undefined) reference.preauthorizeApiKey('bearerAuth', key);
    },
  });
}

const dark = matchMedia('(prefers-color-scheme: dark)');
const followTheme = (): void => {
  document.documentElement.classList.toggle('dark-mode', dark.matches);
};
dark.addEventListener('change', followTheme);
followTheme();

open().catch((error: unknown) => {
  const message = error instanceof Error ? error.message : String(error);
  byId('reference', HTMLElement).replaceChildren(
    element('p', { class: 'notice fault' }, `The reference cannot be shown: ${message}`),
  );
});
