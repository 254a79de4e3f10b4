// The day in a shop: an animal is marked as sold, corrected and removed where people work; and what a person, or their
// screen reader, finds in the states of the console.

import { runStories } from './story.ts';

runStories(new URL('changes.txt', import.meta.url));
