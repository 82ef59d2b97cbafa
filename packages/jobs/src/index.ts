export { type AggregateInput, aggregateStates } from './aggregate/aggregate-states.js';
export { JobAggregates, type ScopeSummary } from './aggregate/job-aggregates.js';
export { type ProgressSource, progressOf } from './aggregate/progress-of.js';
export {
  type EmbeddedJobStoreDeps,
  type EmbeddedJobStoreOptions,
  type EmbeddedJobStoreStatus,
  openEmbeddedJobStore,
} from './embedded/open-embedded-job-store.js';
export type {
  JobInfo,
  JobList,
  JobPatch,
  JobQuery,
  JobSpec,
  JobSummary,
  Labels,
  LeaseRequest,
  LeaseState,
  TaskLease,
} from './job.js';
export type {
  Cursor,
  GapReason,
  History,
  JobEvent,
  JobSubscription,
  Overflow,
  StoreSubscribeOptions,
} from './job-event.js';
export type {
  CallOptions,
  JobCallOptions,
  JobStore,
  SetStateResult,
  StatePage,
  StateWrite,
  StoreCapabilities,
} from './job-store.js';
export { type JobsLimitName, jobsLimits } from './limits.js';
export { createJobManager } from './manager/create-job-manager.js';
export { createJobReader } from './manager/create-job-reader.js';
export type {
  ConditionalWrite,
  ErrorWrite,
  GlobalWrite,
  JobManager,
  MessageWrite,
  NoStatusNames,
  PlainWrite,
  TagWrite,
  Written,
  WrittenIf,
} from './manager/job-manager.js';
export type { JobReader, SubscribeOptions, TagScope } from './manager/job-reader.js';
export type {
  JobManagerDeps,
  JobManagerOptions,
  JobManagerTarget,
  JobReaderOptions,
  JobReaderTarget,
} from './manager/manager-options.js';
export { createMemoryJobStore } from './memory/create-memory-job-store.js';
export type { MemoryJobStoreDeps } from './memory/memory-job-store.js';
export { type JobsMetricName, type JobsMetrics, jobsMetrics } from './metrics-list.js';
export type { StatusNames } from './payload/state-reader.js';
export type {
  AnyState,
  Migrate,
  PayloadInput,
  PayloadOutput,
  StateOf,
  TagName,
  TagSchema,
  TagSchemas,
} from './payload/tag-schemas.js';
export { type Counts, type Progress, percentOf, type TagProgress } from './progress.js';
export {
  type CollectedJobs,
  type CollectJobsDeps,
  collectJobs,
} from './retention/collect-jobs.js';
export type { RetentionPolicy } from './retention/retention-policy.js';
export type { JsonObject, JsonValue, SchemaIssue, Scope, State } from './state.js';
export { compareStatus, JobStatus, type StatusClass, statusClass } from './status.js';
