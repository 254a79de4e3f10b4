import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newPaint, newTable, Progress, renderTable } from './terminal.ts';

function newOutput(options: { isTTY: boolean; columns?: number }) {
  const written: string[] = [];
  return { written, output: { ...options, write: (text: string) => written.push(text) } };
}

test('a table is as wide as its cells, and no line ends in padding', () => {
  const rows = [
    ['', 'ONE', 'TWO'],
    ['animals', 7, 'x'],
    ['last id', 12345],
  ];
  assert.equal(renderTable(rows), '         ONE    TWO\nanimals  7      x\nlast id  12345\n');
});

test('a table keeps its columns from page to page, and colours take no room', () => {
  const { output } = newOutput({ isTTY: true });
  const green = newPaint({ stdout: output, env: {} })('green', 'sold');
  assert.notEqual(green, 'sold');
  const render = newTable([{ alignRight: true }, { widthMin: 7 }]);
  assert.equal(render([['100', green, 'a']]), `100  ${green}     a\n`);
  assert.equal(render([['1', 'pending', 'b']]), '  1  pending  b\n');
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
  const inPipe = new Progress(pipe.output);
  inPipe.show('round 1 of 3');
  inPipe.clear();
  assert.equal(pipe.written.length, 1);
  assert.match(pipe.written.join(''), /^ *\d+ s {2}round 1 of 3\n$/);
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
    assert.match(written[0] ?? '', /░{24} {3}0 % {2}0 animals, 0 per second$/);
    assert.match(written[1] ?? '', /█{24} 100 % {2}2,000 animals, [\d,]+ per second, 0 s left$/);
    assert.equal(written[2], CLEAR_LINE);
  }
});
