import type { Token, Tokens } from 'marked';
import { tabs } from '../html.ts';
import { codeBlock } from './code-block.ts';

/** The languages of the samples, by the name of their code blocks in Markdown. */
const LANGUAGES = {
  curl: { label: 'curl', name: 'curl', run: 'Paste it into a shell.' },
  client: {
    label: 'JS client',
    name: 'JavaScript with the client library',
    run: 'Save it as <code>sample.mjs</code> and run <code>node sample.mjs</code>.',
  },
  fetch: {
    label: 'JS fetch',
    name: 'JavaScript with fetch',
    run: 'Save it as <code>sample.mjs</code> and run <code>node sample.mjs</code>. Plain JavaScript rounds ids above 2<sup>53</sup>: where they can occur, use the client.',
  },
  python: {
    label: 'Python',
    name: 'Python with requests',
    run: 'Save it as <code>sample.py</code> and run <code>python3 sample.py</code>.',
  },
  go: {
    label: 'Go',
    name: 'Go',
    run: 'Save it as <code>sample.go</code> and run <code>go run sample.go</code>.',
  },
} as const;

/** A code block in one of the languages. */
export type Sample = Tokens.Code & { lang: keyof typeof LANGUAGES };

/** Only code blocks have a language. */
export function isSample(token: Token): token is Sample {
  return Object.hasOwn(LANGUAGES, (token as Tokens.Code).lang ?? '');
}

/** "Python with requests": what a reader may search for. */
export function languageName({ lang }: Sample): string {
  return LANGUAGES[lang].name;
}

/** One program in several languages, with one tab each. */
export function sampleTabs(id: string, codes: readonly Sample[]): string {
  return tabs({
    id,
    kind: 'samples',
    legend: 'Language of the sample',
    tabs: codes.map(({ lang, text }) => {
      const { label, name, run } = LANGUAGES[lang];
      const block = codeBlock({ label: name, code: text, isCopied: true, language: lang });
      return { label, value: lang, html: `${block}<p class="run">${run}</p>` };
    }),
  });
}
