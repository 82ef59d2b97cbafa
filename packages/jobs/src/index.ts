export {
  type CollectedJobs,
  type CollectJobsDeps,
  collectJobs,
  type RetentionPolicy,
} from './collect-jobs.js';
export {
  createMemoryJobStore,
  type EmbeddedJobStoreDeps,
  type EmbeddedJobStoreOptions,
  type MemoryJobStoreDeps,
  openEmbeddedJobStore,
} from './embedded/embedded-adapter.js';
export { type AggregateInput, aggregateStates } from './engine/job-cells.js';
export type {
  Counts,
  JobInfo,
  JobList,
  JobPatch,
  JobQuery,
  JobSpec,
  JobSummary,
  JsonObject,
  JsonValue,
  Labels,
  LeaseRequest,
  LeaseState,
  Progress,
  SchemaIssue,
  Scope,
  State,
  StatusClass,
  TagProgress,
  TaskLease,
} from './job.js';
export { compareStatus, defaultState, JobStatus, statusClass, withoutPayload } from './job.js';
export type {
  CallOptions,
  CreatedJob,
  Cursor,
  DeleteOptions,
  GapReason,
  History,
  JobCallOptions,
  JobEvent,
  JobStore,
  JobSubscription,
  Overflow,
  PageBounds,
  SetStateResult,
  StatePage,
  StateWrite,
  StoreCapabilities,
  StoreSubscribeOptions,
  Written,
} from './job-store.js';
export { type JobsLimitName, jobsLimits } from './limits.js';
export {
  createJobManager,
  createJobReader,
  type JobManagerDeps,
  type JobManagerOptions,
  type JobManagerTarget,
  type JobReaderOptions,
  type JobReaderTarget,
} from './manager/create-job-manager.js';
export { JobFold } from './manager/job-fold.js';
export type {
  AnyState,
  GlobalWrite,
  JobManager,
  JobReader,
  MessageWrite,
  Migrate,
  NoStatusNames,
  PayloadInput,
  PayloadOutput,
  StateOf,
  StatusNames,
  SubscribeOptions,
  TagName,
  TagSchema,
  TagSchemas,
  TagScope,
  TagWrite,
} from './manager/job-manager.js';
export { type JobsMetricName, type JobsMetrics, jobsMetrics } from './metrics-list.js';
