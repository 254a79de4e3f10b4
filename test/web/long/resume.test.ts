import { test } from '../stage.ts';
import { addListTwice } from '../resume.ts';

test('5,000 lines are stopped by a reload, one is corrected, all are pasted again: 5,000 animals; on purpose, 10,000', (t) =>
  addListTwice(t, 5_000));
