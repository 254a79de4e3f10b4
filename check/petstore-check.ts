#!/usr/bin/env node
// The program `petstore-check`. A file of its own, because Node.js 22 has no `import.meta.main`: the program would say
// nothing there, and end with 0, as if it had found nothing broken.

import { main } from './main.ts';

process.exitCode = await main(process.argv.slice(2), process);
