// Breaks the limit of the waiting time: every create is refused, but for what a start writes.

import { AdmissionControl } from '../../../src/storage/admission-control.ts';

const FREE = 10;

let admitted = 0;
AdmissionControl.prototype.admit = () => (admitted += 1) <= FREE;
