import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newPaint, newTable, Progress, relativeTime, renderTable, wrapText } from './terminal.ts';

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

test('colours are only for a terminal that knows them', () => {
  const { output } = newOutput({ isTTY: true });
  for (const env of [{ NO_COLOR: '1' }, { TERM: 'dumb' }]) {
    assert.equal(newPaint({ stdout: output, env })('green', 'sold'), 'sold');
  }
  assert.notEqual(newPaint({ stdout: output, env: { TERM: 'xterm' } })('green', 'sold'), 'sold');
});

test('a narrow table continues long cells on the next line and leaves columns out, the lowest number first', () => {
  const columns = [{}, { fit: 'wrap' }, { leaveOut: 2 }, { leaveOut: 1 }] as const;
  const row = ['key_1', 'the shop in the old town', 'yesterday', 'tomorrow'];
  assert.equal(
    newTable(columns, 60)([row]),
    'key_1  the shop in the old town  yesterday  tomorrow\n',
  );
  assert.equal(newTable(columns, 45)([row]), 'key_1  the shop in the old town  yesterday\n');
  assert.equal(
    newTable(columns, 40)([row]),
    'key_1  the shop in the old     yesterday\n       town\n',
  );
  assert.equal(newTable(columns, 30)([row]), 'key_1  the shop in the old\n       town\n');
  const last = renderTable([['crash', 'Kills the process and looks.']], 20);
  assert.equal(last, 'crash  Kills the\n       process and\n       looks.\n');
});

test('text is wrapped between words, and a word that is too long is broken', () => {
  assert.deepEqual(wrapText('one two three', 7), ['one two', 'three']);
  assert.deepEqual(wrapText('unbreakable 猫猫猫', 5), ['unbre', 'akabl', 'e', '猫猫', '猫']);
  assert.deepEqual(wrapText('', 5), ['']);
});

test('times are told as people say them', () => {
  const now = new Date('2026-06-01T12:00:00Z');
  const after = (seconds: number) => relativeTime(new Date(now.getTime() + seconds * 1000), now);
  assert.deepEqual([0, -20, -150, -7_200, -200_000, 90 * 86_400, 59].map(after), [
    'now',
    '20 s ago',
    '2 min ago',
    '2 h ago',
    '2 d ago',
    'in 90 d',
    'in 59 s',
  ]);
  assert.equal(relativeTime(undefined, now), 'never');
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
