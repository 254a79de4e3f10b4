import assert from 'node:assert/strict';
import { test } from 'node:test';
import { check } from '../../src/cli/check.ts';
import { startTestService, type TestStorage } from '../test-service.ts';

export function conformanceContract(storage: TestStorage): void {
  test(`petstore check passes every clause of the specification on ${storage.name}`, async (t) => {
    const service = await startTestService(storage);
    t.after(() => service.close());
    let stdout = '';
    const io = {
      env: {},
      stdout: { write: (text: string) => (stdout += text) },
      stderr: { write: () => undefined },
    };
    const code = await check([service.baseUrl, '--key', service.key, '--write'], io);
    assert.equal(code, 0, stdout);
    assert.match(stdout, /^74 kept, 0 broken, 8 not checkable$/m);
  });
}
