// The day in a shop: an animal is marked as sold, corrected and removed where people work.

import { runStories } from './story.ts';

runStories(new URL('changes.txt', import.meta.url));
