import assert from 'node:assert/strict';
import { test } from 'node:test';
import { main } from '../../check/main.ts';
import { checkService } from '../../check/run.ts';
import { startTestService, type TestStorage } from '../../harness/test-service.ts';

export function conformanceTests(storage: TestStorage): void {
  test(`the check passes every clause of the specification on ${storage.name}`, async (t) => {
    const service = await startTestService(storage);
    t.after(() => service.close());
    let stdout = '';
    const io = {
      env: { PETSTORE_API_KEY: service.key },
      stdout: { write: (text: string) => (stdout += text) },
      stderr: { write: () => undefined },
    };
    const code = await main([service.baseUrl, '--write'], io);
    assert.equal(code, 0, stdout);
    assert.match(stdout, /^75 kept, 0 broken, 7 not checkable$/m);
  });

  test(`the check finds no clause broken in 2031 on ${storage.name}, when getPet is removed`, async (t) => {
    const now = new Date('2031-01-01T00:00:00Z');
    const service = await startTestService(storage, { now });
    t.after(() => service.close());
    const { baseUrl: base, key } = service;
    const subject = { base, key, now, mayWrite: true, run: 'test', unwantedCategoryId: 2n ** 45n };
    const findings = await checkService(subject);
    const idsWith = (kind: string) =>
      findings.filter(({ verdict }) => verdict.kind === kind).map(({ clause }) => clause.id);
    assert.deepEqual(idsWith('broken'), []);
    assert.ok(idsWith('kept').includes('getPet.removed'));
  });
}
