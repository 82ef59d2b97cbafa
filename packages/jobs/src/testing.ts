export type {
  FaultName,
  JobStoreCase,
  JobStoreFaults,
  JobStoreSubject,
  JobStoreSuiteOptions,
} from './conformance/job-store-subject.js';
export { jobStoreSuite } from './conformance/job-store-suite.js';
export {
  createReferenceJobStore,
  type ReferenceJobStore,
} from './conformance/reference/reference-store.js';
export { TimerCount } from './conformance/timer-count.js';
export { checkAtomic } from './conformance/trace/check-atomic.js';
export { checkBookmarkable } from './conformance/trace/check-bookmarkable.js';
export { checkGenuine } from './conformance/trace/check-genuine.js';
export { checkOrdered } from './conformance/trace/check-ordered.js';
export { checkReliable } from './conformance/trace/check-reliable.js';
export { checkResumable } from './conformance/trace/check-resumable.js';
export { checkTrace } from './conformance/trace/check-trace.js';
export { checkUnique } from './conformance/trace/check-unique.js';
export { CommittedLog, checkCommitted } from './conformance/trace/committed-log.js';
export {
  formatTrace,
  type JobTrace,
  type TraceChecker,
  type TracePart,
} from './conformance/trace/job-trace.js';
