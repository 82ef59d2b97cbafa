// The door `@syncline/jobs/store-kit`: makes a job store of an adapter to any database that has transactions.
//
// Write a `StoreAdapter`, open it with `openJobStore`, and prove it with `jobStoreSuite` of `@syncline/jobs/testing`.
export type { CellRow, JobRow, RecentWrite, TaskRow } from './core/rows.js';
export { CellCounts } from './engine/cell-counts.js';
export { type EngineJobStore, openJobStore } from './engine/engine-job-store.js';
export { JobCells } from './engine/job-cells.js';
export type { EngineDeps, EngineOptions } from './engine/job-engine.js';
export { changeTopics, type JobFilter, matchesFilter } from './engine/job-filter.js';
export type {
  AdapterHost,
  AdapterStatus,
  CellCommit,
  CellPlace,
  CellRef,
  Commit,
  CommitRequest,
  CommitRows,
  DamagedRows,
  JobCommit,
  JobHead,
  JobRows,
  LeaseRef,
  ListedJob,
  MirroredJob,
  RemovedChange,
  SharedStore,
  StoreAdapter,
  StoreStart,
  StoreView,
} from './engine/store-adapter.js';
export type { ChangeKind, StoredChange } from './engine/stored-change.js';
