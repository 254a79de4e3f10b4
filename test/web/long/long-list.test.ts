import { test } from '../stage.ts';
import { addListTwice } from './resume.ts';

// A shop has 5,000 lines, which takes a busy machine longer than a test may take: they were tried once by hand.
test('1,000 lines are stopped by a reload, one is corrected, all are pasted again: 1,000 animals; on purpose, 2,000', (t) =>
  addListTwice(t, 1_000));
