import { sqliteStorage } from '../../harness/test-service.ts';
import { recordedRequests } from './requests.ts';

recordedRequests(sqliteStorage, { mayRecord: true });
