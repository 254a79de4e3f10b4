// The control loads this file into the service before anything else. The start then does not sync the log that it
// finds, and acknowledges a repeated create from the memory of the system.

import { leaveOut } from './log-functions.ts';

leaveOut('fsyncSync', () => undefined);
