import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Progress, renderTable } from './terminal.ts';

function newOutput(options: { isTTY: boolean; columns?: number }) {
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

test('steps are redrawn in place on a terminal, and are lines of their own elsewhere', () => {
  const terminal = newOutput({ isTTY: true, columns: 14 });
  const onTerminal = new Progress(terminal.output);
  onTerminal.show('round 1 of 3');
  onTerminal.clear();
  onTerminal.clear();
  const [line = '', ...rest] = terminal.written;
  assert.ok(line.startsWith(CLEAR_LINE));
  assert.match(line.slice(CLEAR_LINE.length), /^ *\d+ s {2}round$/);
  assert.deepEqual(rest, [CLEAR_LINE]);

  const pipe = newOutput({ isTTY: false });
  const startedMs = performance.now();
  const inPipe = new Progress(pipe.output);
  inPipe.show('round 1 of 3');
  inPipe.clear();
  assert.equal(pipe.written.length, 1);
  const [, seconds = ''] = /^ *(\d+) s {2}round 1 of 3\n$/.exec(pipe.written.join('')) ?? [];
  assert.ok(
    Number(seconds) <= Math.round((performance.now() - startedMs) / 1000),
    `it says ${seconds} s`,
  );
});

test('a bar shows the share that is done on a terminal, and nothing elsewhere', () => {
  for (const isTTY of [true, false]) {
    const { written, output } = newOutput({ isTTY });
    const progress = new Progress(output);
    progress.showBar({ count: 0, share: 0 });
    progress.showBar({ count: 2000, share: 1 });
    progress.clear();
    assert.equal(written.length, isTTY ? 3 : 0);
    if (!isTTY) continue;
    assert.match(written[0] ?? '', /░{24} {3}0 % {2}0 animals$/);
    assert.match(written[1] ?? '', /█{24} 100 % {2}2,000 animals, [\d,]+ per second, 0 s left$/);
    assert.equal(written[2], CLEAR_LINE);
  }
});

function assertBetween(value: number, low: number, high: number): void {
  assert.ok(value >= Math.floor(low) && value <= Math.ceil(high), `${low}, ${value}, ${high}`);
}

test('a bar is redrawn at most ten times per second, with the rate and the time left since its start', () => {
  const { written, output } = newOutput({ isTTY: true, columns: 200 });
  const beforeMs = performance.now();
  const progress = new Progress(output, 'pages');
  const startedMs = performance.now();
  progress.showBar({ count: 1_000, share: 0.499 });
  let calledMs = 0;
  while (written.length < 2 && performance.now() - startedMs < 5_000) {
    calledMs = performance.now();
    progress.showBar({ count: 2_000, share: 0.5 });
  }
  const endMs = performance.now();
  assert.equal(written.length, 2);
  assert.ok(endMs - beforeMs >= 100);
  const [, rate = '', left = ''] =
    /█{12}░{12} {2}50 % {2}2,000 pages, ([\d,]+) per second, (\d+) s left$/.exec(
      written[1] ?? '',
    ) ?? [];
  const [shortest, longest] = [(calledMs - startedMs) / 1000, (endMs - beforeMs) / 1000];
  assertBetween(Number(rate.replaceAll(',', '')), 1_000 / longest, 1_000 / shortest);
  // A thousandth was done in this time, and 500 times as much is left.
  assertBetween(Number(left), 500 * shortest, 500 * longest);
});

test('a bar for work of unknown size has no share and no time left', () => {
  const { written, output } = newOutput({ isTTY: true });
  new Progress(output).showBar({ count: 5, share: undefined });
  assert.deepEqual(written, [`${CLEAR_LINE}5 animals`]);
});

test('on a narrow terminal the bar is shorter, and its text is whole', () => {
  for (const [columns, width] of [
    [80, 24],
    [47, 21],
    [26, 0],
  ] as const) {
    const { written, output } = newOutput({ isTTY: true, columns });
    new Progress(output).showBar({ count: 9_999_999, share: 0.5 });
    const [line = ''] = written;
    assert.equal(line.replaceAll(/[█░]/g, ''), `${CLEAR_LINE}  50 %  9,999,999 animals`);
    assert.equal(line.match(/[█░]/g)?.length ?? 0, width);
  }
});
