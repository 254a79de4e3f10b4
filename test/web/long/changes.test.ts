// What others change meanwhile, and many at once; and what a person, or their screen reader, finds in the states of the
// console.

import { runStories } from '../story.ts';

runStories(new URL('changes.txt', import.meta.url));
