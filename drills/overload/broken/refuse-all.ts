// Breaks the limit of the waiting time: every create is refused.

import { AdmissionControl } from '../../../src/storage/admission-control.ts';

AdmissionControl.prototype.admit = () => false;
