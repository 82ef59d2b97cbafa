export {
  type EmbeddedJobStoreDeps,
  type EmbeddedJobStoreOptions,
  openEmbeddedJobStore,
} from './embedded/open-embedded-job-store.js';
export { type AggregateInput, aggregateStates } from './engine/aggregate-states.js';
export { JobCells } from './engine/job-cells.js';
export { type ProgressSource, progressOf } from './engine/progress-of.js';
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
  DeleteOptions,
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
export { createMemoryJobStore, type MemoryJobStoreDeps } from './memory/memory-job-store.js';
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
export type { Counts, Progress, TagProgress } from './progress.js';
export {
  type CollectedJobs,
  type CollectJobsDeps,
  collectJobs,
} from './retention/collect-jobs.js';
export type { RetentionPolicy } from './retention/retention-policy.js';
export {
  defaultState,
  type JsonObject,
  type JsonValue,
  type SchemaIssue,
  type Scope,
  type State,
  withoutPayload,
} from './state.js';
export { compareStatus, JobStatus, type StatusClass, statusClass } from './status.js';
