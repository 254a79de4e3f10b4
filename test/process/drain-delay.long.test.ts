// What happens between SIGTERM and the end of the listener with --drain-delay.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { SAME_SIGNAL_MS } from '../../src/cli/serve.ts';
import { assertError } from '../interface/errors.ts';
import { send } from '../../harness/test-service.ts';
import { serve } from '../../harness/service-process.ts';
import { temporaryFolder } from '../../harness/temporary-folder.ts';
import { until } from '../../harness/until.ts';

const WAIT_MS_MAX = 30_000;

describe('Drain delay', { concurrency: true }, () => {
  for (const workers of ['1', '2']) {
    const flags = ['--workers', workers, '--admin-port', '0'];

    test(`--workers ${workers}: after SIGTERM /readyz is 503 and new connections get responses; a second signal ends it`, async (t) => {
      const delay = ['--drain-delay', '300'];
      const service = await serve(t, ['--data', temporaryFolder(t), ...flags, ...delay]);
      const adminUrls = workers === '1' ? [service.adminUrl] : await service.workerAdminUrls(2);
      assert.equal(adminUrls.length, Number(workers));
      const readyUrls = [service.baseUrl, ...adminUrls].map((url) => new URL('/readyz', url).href);
      for (const url of readyUrls) assert.equal((await send(url)).status, 200);
      service.signal('SIGTERM');
      const headers = { authorization: `Bearer ${service.key}` };
      const deadlineMs = performance.now() + WAIT_MS_MAX;
      // Workers take turns, so each of them responds once in as many requests as there are workers.
      for (let refused = 0; refused < 4;) {
        assert.ok(performance.now() < deadlineMs, '/readyz must become 503');
        const ready = await Promise.all(readyUrls.map((url) => send(url)));
        refused = ready.every(({ status }) => status === 503) ? refused + 1 : 0;
        for (const each of ready) if (each.status === 503) assertError(each, 'unavailable');
        const page = await send(`${service.baseUrl}/pets`, { headers });
        assert.equal(page.status, 200, 'requests on new connections are still accepted');
      }
      assert.doesNotMatch(
        service.stderr(),
        /"level":"(?:warn|error)"/,
        'a planned stop is no error',
      );
      await sleep(SAME_SIGNAL_MS + 100);
      service.signal('SIGTERM');
      assert.equal(await service.ended, 1);
      // Node.js ends a worker that has lost its primary.
      await until('no worker serves any more', async () => {
        const responses = await Promise.allSettled(readyUrls.map((url) => send(url)));
        return responses.every(({ status }) => status === 'rejected');
      });
    });

    test(`--workers ${workers}: after the delay the service stops with exit code 0`, async (t) => {
      const delay = ['--drain-delay', '1'];
      const service = await serve(t, ['--data', temporaryFolder(t), ...flags, ...delay]);
      const startedMs = performance.now();
      service.signal('SIGTERM');
      assert.equal(await service.ended, 0);
      assert.ok(performance.now() - startedMs >= 1_000);
    });
  }
});
