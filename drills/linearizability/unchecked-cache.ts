// The service with a cache that does not check the version of the store. The control of the drill starts it.

import { ResponseCache } from '../../src/http/response-cache.ts';

const unchecked = new ResponseCache({ version: () => 1 });
ResponseCache.prototype.get = unchecked.get.bind(unchecked);
await import('../../src/main.ts');
