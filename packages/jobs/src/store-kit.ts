// The entry point `@syncline/jobs/store-kit`: for building a job store on any database with transactions.
//
// Write a `StoreAdapter`, open it with `openJobStore`, and test it with `jobStoreSuite` from `@syncline/jobs/testing`.
export type { CellRow, JobRow, RecentWrite, TaskRow } from './core/rows.js';
export { CellCounts } from './engine/cell-counts.js';
export type { ChangeKind, StoredChange } from './engine/changes.js';
export { changeTopics, type JobFilter, matchesFilter } from './engine/changes.js';
export { JobCells } from './engine/job-cells.js';
export { type EngineJobStore, type EngineOptions, openJobStore } from './engine/job-engine.js';
export type {
  AdapterHost,
  AdapterStatus,
  CellCommit,
  CellPlace,
  CellRef,
  Commit,
  CommitRequest,
  CommitRows,
  DamagedRow,
  Decide,
  EngineDeps,
  JobCommit,
  JobHead,
  JobRange,
  JobRows,
  LeaseRef,
  ListedJob,
  MirroredJob,
  RemovedChange,
  SharedStore,
  Since,
  StoreAdapter,
  StoreStart,
  StoreView,
  WantedCell,
} from './engine/store-adapter.js';
