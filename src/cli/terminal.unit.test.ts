import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Progress, renderTable } from './terminal.ts';

function newOutput(options: { isTTY: boolean }) {
  const written: string[] = [];
  return { written, output: { ...options, write: (text: string) => written.push(text) } };
}

test('a table is as wide as its cells, and no line ends in padding', () => {
  const rows = [
    ['', 'ONE', 'TWO'],
    ['animals', 7, 'x'],
    ['last id', 12345],
    ['\u001b[1mcoloured\u001b[22m', 1, 'y'],
  ];
  assert.equal(
    renderTable(rows),
    '          ONE    TWO\nanimals   7      x\nlast id   12345\n\u001b[1mcoloured\u001b[22m  1      y\n',
  );
});

const CLEAR_LINE = '\r\u001b[K';

test('progress is one line on a terminal, redrawn at most ten times per second, and nothing elsewhere', () => {
  const { written, output } = newOutput({ isTTY: true });
  const progress = new Progress(output, 'pages');
  const beforeMs = performance.now();
  progress.show(1_000, 0.499);
  while (written.length < 2) progress.show(2_000);
  assert.ok(performance.now() - beforeMs >= 100);
  progress.clear();
  progress.clear();
  assert.deepEqual(written, [
    `${CLEAR_LINE}49 %  1,000 pages`,
    `${CLEAR_LINE}2,000 pages`,
    CLEAR_LINE,
  ]);

  const pipe = newOutput({ isTTY: false });
  const unseen = new Progress(pipe.output);
  unseen.show(1, 0.5);
  unseen.clear();
  assert.deepEqual(pipe.written, []);
});
