// Every state of the console in every view: axe-core, the width, and a picture in artifacts/ for people.

import type { Page } from 'playwright-core';
import { keepPicture, test } from '../stage.ts';
import {
  catalogueStates,
  checkView,
  emptyStates,
  restrictedStates,
  troubleStates,
  VIEWS,
} from '../states.ts';

async function check(page: Page, state: string, enter?: () => Promise<void>): Promise<void> {
  for (const view of VIEWS) {
    await enter?.();
    await checkView(page, view);
    await keepPicture(page, `${state}-${view.colorScheme}-${view.width}`);
  }
}

test('without animals, in all views', (t) => emptyStates(t, check));
test('with animals, in all views', (t) => catalogueStates(t, check));
test('in trouble, in all views', (t) => troubleStates(t, check));
test('with a restricted key, in all views', (t) => restrictedStates(t, check));
