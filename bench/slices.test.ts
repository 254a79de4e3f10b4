import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { withContenders, type Bench } from './bench.ts';
import { findCores } from './cores.ts';
import { Generator } from './generator.ts';
import { ownContender } from './recipes.ts';
import { ratioOf } from './rounds.ts';
import { slicedRound } from './slices.ts';

const folder = mkdtempSync(join(tmpdir(), 'petstore-slices-'));
const cores = findCores();
const generator = new Generator({ folder, cores: cores.generator });
const skip = generator.canSlice ? false : 'needs wrk, taskset and the counters of Linux';
const bench = { folder, key: 'none', cores, generator, slices: 10, warmUpSeconds: 0.2 } as Bench;

const responses = join(folder, 'responses.json');
writeFileSync(responses, JSON.stringify({ GET: { status: 200, headers: [], body: '[]' } }));
const recipe = ownContender('none', { name: 'bare', script: 'bare.js', argument: responses });
const run = { recipe, load: recipe.load('list') };

test.after(() => rmSync(folder, { recursive: true }));

test('a load sends while it is not paused, and stops', { skip }, () =>
  withContenders(bench, [recipe], async (contender) => {
    await using load = generator.start(contender?.url ?? '', run.load);
    while (load.sent() < 100) await sleep(10);
    load.pause();
    await sleep(50);
    const sent = load.sent();
    await sleep(100);
    assert.equal(load.sent(), sent);
    load.resume();
    while (load.sent() === sent) await sleep(10);
    load.pause();
    await load.stop();
  }),
);

test('a load whose requests fail is an error when it stops', { skip }, () =>
  withContenders(bench, [recipe], async (contender) => {
    // `bare` has no response for this method and ends.
    await using load = generator.start(contender?.url ?? '', { ...run.load, method: 'POST' });
    await sleep(300);
    await assert.rejects(load.stop(), /failed|no request got a response/);
  }),
);

test('slices of a server and of the same server again cost about the same', { skip }, async () => {
  const [of = [], against = []] = await slicedRound(bench, [run, { ...run }]);
  assert.deepEqual([of.length, against.length], [10, 10]);
  const ratio = ratioOf(of, against);
  assert.ok(ratio > 0.4 && ratio < 2.5, `${ratio}: ${of.join(', ')} against ${against.join(', ')}`);
});
