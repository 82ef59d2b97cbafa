// What is known of a job besides its states, and of its tasks' leases.
import type { Counts } from './progress.js';
import type { StatusClass } from './status.js';

export type Labels = Readonly<Record<string, string>>;

export type JobInfo = Readonly<{
  jobId: string;
  /** Opaque, of letters, digits and dashes. A job that is deleted and created again has another one. */
  incarnation: string;
  numTasks: number;
  /** Tags that every task will write, in order of their bytes. */
  expectedTags: readonly string[];
  labels: Labels;
  createdAtMs: number;
  /** When it was marked deleted; reads go on, writes are refused. */
  deletedAtMs?: number;
  /** The last committed change of the job; for a `job` event, its own. */
  revision: number;
  changedAtMs: number;
}>;

export type JobSpec = Readonly<{
  jobId: string;
  numTasks: number;
  expectedTags?: readonly string[];
  labels?: Labels;
}>;

/** What is given replaces all that was there; what is not given stays. */
export type JobPatch = Readonly<{ labels?: Labels; expectedTags?: readonly string[] }>;

export type JobQuery = Readonly<{
  prefix?: string;
  /** Only jobs whose most severe cell is of this class. */
  worst?: StatusClass;
  afterJobId?: string;
  /** Default and most: `listJobsMax`. */
  limit?: number;
}>;

export type JobSummary = Readonly<{
  job: JobInfo;
  cells: Counts;
  /** As in `Progress`. */
  percent: number;
  lostTasks: number;
}>;

/** A page of jobs, in order of their names. */
export type JobList = Readonly<{
  jobs: readonly JobSummary[];
  /** Names of jobs on this page whose metadata cannot be read, whatever class was asked for. They can be deleted. */
  damaged?: readonly string[];
  /** The `afterJobId` of the next page. */
  next?: string;
}>;

export type LeaseState = 'held' | 'released' | 'lost';

export type TaskLease = Readonly<{
  taskId: number;
  /** Rises with each claim, and is never given twice within an incarnation. */
  epoch: number;
  state: LeaseState;
  /** 0: never expires. */
  ttlMs: number;
  /** By the store's wall clock; 0 if it never expires or is not held. For people: no decision rests on it. */
  expiresAtMs: number;
  /** Who claimed it, as it named itself. */
  holder: string;
  /** The revision of its last transition. */
  revision: number;
}>;

export type LeaseRequest = Readonly<{
  jobId: string;
  incarnation: string;
  taskId: number;
  action: 'claim' | 'renew' | 'release';
  /** Ignored by `claim`. */
  epoch: number;
  ttlMs: number;
  holder: string;
}>;
