import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COMMANDS } from '../../src/cli/commands.ts';
import { execute } from '../../src/cli/execute.ts';
import { startTestService, type TestStorage } from '../../harness/test-service.ts';

export function conformanceTests(storage: TestStorage): void {
  test(`petstore check passes every clause of the specification on ${storage.name}`, async (t) => {
    const service = await startTestService(storage);
    t.after(() => service.close());
    let stdout = '';
    const io = {
      env: { PETSTORE_API_KEY: service.key },
      stdout: { write: (text: string) => (stdout += text) },
      stderr: { write: () => undefined },
    };
    const args = ['check', service.baseUrl, '--write'];
    const code = await execute(COMMANDS, args, io);
    assert.equal(code, 0, stdout);
    assert.match(stdout, /^75 kept, 0 broken, 7 not checkable$/m);
  });
}
