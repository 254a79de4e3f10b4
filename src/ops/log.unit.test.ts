import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { test } from 'node:test';
import { openLog } from './log.ts';

function lines(isTTY: boolean, level: 'info' | 'silent' = 'info'): string[] {
  const written: string[] = [];
  const log = openLog(level, { isTTY, write: (text) => written.push(text) });
  log.debug('hidden');
  log.info({ keyId: 'key_a', status: 200 }, 'request');
  log.error({ err: new Error('the disk is gone') }, 'request failed');
  return written;
}

test('the log has one JSON object per line, with the name of its level, the time, the host and process, and the cause', () => {
  const [first = '', second = ''] = lines(false);
  assert.match(first, /^\{.*\}\n$/);
  const { time, ...rest } = JSON.parse(first) as Record<string, unknown>;
  assert.match(String(time), /^\d{4}-\d\d-\d\dT/);
  assert.deepEqual(rest, {
    level: 'info',
    instance: `${hostname()}:${process.pid}`,
    keyId: 'key_a',
    status: 200,
    msg: 'request',
  });
  assert.match(second, /the disk is gone/);
});

test('a terminal gets plain text', () => {
  const [first = '', second = ''] = lines(true);
  assert.match(first, /^\d\d:\d\d:\d\d info {2}request keyId=key_a status=200\n$/);
  assert.match(second, /error request failed .*the disk is gone/);
});

test('the level silent logs nothing', () => {
  assert.deepEqual(lines(false, 'silent'), []);
});

test('beyond 1 MiB of unread lines, further lines are dropped and counted', () => {
  const written: string[] = [];
  const target = { writableLength: 0, write: (text: string) => written.push(text) };
  const log = openLog('info', target);
  target.writableLength = 1024 * 1024;
  log.info('written');
  assert.equal(written.splice(0).length, 1);
  target.writableLength = 1024 * 1024 + 1;
  log.info('dropped');
  log.info('dropped too');
  assert.deepEqual(written, []);
  target.writableLength = 0;
  log.info('read again');
  const messages = written.map((line) => JSON.parse(line) as { msg: string; lines?: number });
  assert.deepEqual(
    messages.map((message) => [message.msg, message.lines]),
    [
      ['log lines were dropped because nobody read them', 2],
      ['read again', undefined],
    ],
  );
});
