// Breaks the service slowly: each request leaves a little memory behind, and one in a hundred an open file.

import { openSync } from 'node:fs';
import { intercept } from './intercept.ts';

const LEAK_BYTES = 16 * 1024;
const FILE_EVERY = 100;

const leaked: Buffer[] = [];
intercept((event) => {
  if (event !== 'request') return false;
  leaked.push(Buffer.alloc(LEAK_BYTES, 1));
  if (leaked.length % FILE_EVERY === 0) openSync('/dev/null', 'r');
  return false;
});
