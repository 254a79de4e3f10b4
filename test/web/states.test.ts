import type { Page } from 'playwright-core';
import {
  catalogueStates,
  checkView,
  emptyStates,
  restrictedStates,
  troubleStates,
  VIEWS,
} from './states.ts';
import { test } from './stage.ts';

let turn = 0;

/** One view of each state. The states take turns with the views; test/accessibility/ checks every state in all. */
async function check(page: Page, _state: string, enter?: () => Promise<void>): Promise<void> {
  const view = VIEWS[turn % VIEWS.length];
  turn += 1;
  await enter?.();
  if (view !== undefined) await checkView(page, view);
}

test('console › without animals, every state is accessible and fits its view', (t) =>
  emptyStates(t, check));
test('console › with animals, every state is accessible and fits its view', (t) =>
  catalogueStates(t, check));
test('console › after a failure, every state is accessible and fits its view', (t) =>
  troubleStates(t, check));
test('console › with a restricted key, every state is accessible and fits its view', (t) =>
  restrictedStates(t, check));
