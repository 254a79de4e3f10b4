// Breaks the limit of the waiting time: once something waited, every create is refused.

import { AdmissionControl } from '../../../src/storage/admission-control.ts';

const FREE = 20_000;

let admitted = 0;
const admit = Reflect.get(AdmissionControl.prototype, 'admit');
AdmissionControl.prototype.admit = function (this: AdmissionControl): boolean {
  admitted += 1;
  return admitted < FREE && admit.call(this);
};
