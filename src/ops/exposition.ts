// The response of /metrics, in the text format of Prometheus.

import type { Figure, FigureValue } from './metrics.ts';

export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export function expositionOf(figures: readonly Figure[]): string {
  return figures.map(textOf).join('');
}

function textOf({ name, help, type, values }: Figure): string {
  const lines = values.map(
    ({ metricName = name, labels, value }) => `${metricName}${labelsOf(labels)} ${value}\n`,
  );
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`;
}

function labelsOf(labels: FigureValue['labels']): string {
  const pairs = Object.entries(labels).map(([label, value]) => {
    const escaped = String(value)
      .replaceAll(/["\\]/g, String.raw`\$&`)
      .replaceAll('\n', String.raw`\n`);
    return `${label}="${escaped}"`;
  });
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}
