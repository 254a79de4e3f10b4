import { test } from 'node:test';
import type { Page } from 'playwright-core';
import {
  catalogueStates,
  checkView,
  emptyStates,
  restrictedStates,
  troubleStates,
  VIEWS,
} from './states.ts';

let turn = 0;

/**
 * Two views of each state, which differ in width and in theme. The states take turns with the views;
 * drills/console/states.test.ts checks every state in all of them.
 */
async function check(page: Page, _state: string, enter?: () => Promise<void>): Promise<void> {
  for (const offset of [0, 3]) {
    const view = VIEWS[(turn + offset) % VIEWS.length];
    await enter?.();
    if (view !== undefined) await checkView(page, view);
  }
  turn += 1;
}

test('console › without animals, every state is accessible and fits its view', (t) =>
  emptyStates(t, check));
test('console › with animals, every state is accessible and fits its view', (t) =>
  catalogueStates(t, check));
test('console › after a failure, every state is accessible and fits its view', (t) =>
  troubleStates(t, check));
test('console › with a restricted key, every state is accessible and fits its view', (t) =>
  restrictedStates(t, check));
