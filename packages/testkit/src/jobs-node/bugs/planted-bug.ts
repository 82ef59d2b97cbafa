// Bugs that can be planted in the job store and its managers, one at a time, to prove that the simulation finds them.
// None is in the code under test: each is an edit of the text of a module, which is loaded beside the real one.
import type { SourceEdit } from '../../simulation/load-edited.js';

const COMMITS = 'engine/commits';
const WRITES = 'engine/job-writes';
const ADAPTER = 'embedded/embedded-adapter';
const SET_STATE = 'core/decisions';

export const SOURCE_EDITS = {
  /** Subscribers receive a change as soon as it is handed to the disk. */
  'jobs-publish-before-sync': [
    {
      file: COMMITS,
      find: 'for (const staged of changed) this.#apply(staged);',
      replace: '',
    },
    {
      file: COMMITS,
      find: 'for (const { job, changes } of changed) { jobs.publish(job, changes); onPublished(job); }',
      replace: '',
    },
    { file: COMMITS, find: 'await adapter.commit(', replace: 'const storing = adapter.commit(' },
    {
      file: COMMITS,
      find: ': { jobs: changed, durability, securesEarlier }; });',
      replace: `: { jobs: changed, durability, securesEarlier }; });
        for (const staged of changed ?? []) this.#apply(staged);
        for (const { job, changes } of changed ?? []) { jobs.publish(job, changes); onPublished(job); }
        await storing;`,
    },
  ],
  /** Replies are sent as soon as their batch is handed to the disk. */
  'jobs-ack-before-sync': [
    {
      file: COMMITS,
      find: 'const isSynced = securesEarlier',
      replace: 'for (const call of calls) call.done(); const isSynced = securesEarlier',
    },
  ],
  /** A batch that contains a synced write is only buffered. */
  'jobs-synced-as-buffered': [
    {
      file: ADAPTER,
      find: "durability: isSynced ? 'synced' : 'buffered'",
      replace: "durability: marksBuffered ? 'synced' : 'buffered'",
    },
  ],
  /** Claims, releases and losses are not synced. */
  'jobs-epoch-not-durable': [
    { file: 'engine/staged-job', find: 'this.tasks.size > 0 ||', replace: '' },
  ],
  /** A retry of a write that was applied is applied again. */
  'jobs-event-id-forgotten': [
    { file: SET_STATE, find: '.slice(0, limitValues.recentEventIdsMax)', replace: '.slice(0, 0)' },
  ],
  /** Anyone who has ever claimed the task may keep writing. */
  'jobs-fence-skipped': [
    {
      file: SET_STATE,
      find: 'refusals.checkFence(job, task, write);',
      replace: '',
    },
  ],
  /** A manager sends each attempt of a write under a new event id. */
  'jobs-new-event-id': [
    {
      file: 'manager/open-manager',
      find: 'store.setState(write, { ...options, observer })',
      replace:
        "store.setState({ ...write, eventId: Buffer.from(this.deps.random.bytes(16)).toString('hex') }, { ...options, observer })",
    },
  ],
  /** The record of a key's latest state is removed from the log. */
  'jobs-compaction-drops-latest': [
    {
      file: 'engine/compaction',
      find: 'return staged.latestRevision(change) > change.revision;',
      replace:
        "return staged.latestRevision(change) >= change.revision + (change.kind === 'state' ? 0 : 1);",
    },
  ],
  /** A record is removed although the one that replaced it is only buffered. */
  'jobs-compaction-not-secured': [
    { file: ADAPTER, find: 'if (!this.#hasBufferedMark ||', replace: 'if (true ||' },
  ],
  /** A subscriber that resumes before the compaction point gets what is left, as if it were complete. */
  'jobs-gap-not-reported': [
    {
      file: 'embedded/embedded-view',
      find: 'revision: last, compactedTo,',
      replace: 'revision: last, compactedTo: 0,',
    },
  ],
  /** A resumed subscription starts one change too late. */
  'jobs-resume-off-by-one': [
    {
      file: 'engine/job-feed',
      find: "after: revision, seen: isReplaying ? 'replay' : 'all'",
      replace:
        "after: isReplaying ? revision : Math.min(revision + 1, this.#deps.source.revision()), seen: isReplaying ? 'replay' : 'all'",
    },
  ],
  /** Renewals are acknowledged but have no effect. */
  'jobs-renewal-ignored': [
    {
      file: WRITES,
      find: "if (lease.state === 'held') leases.watch.extend(incarnation, taskId);",
      replace: '',
    },
  ],
  /** A renewal extends the lease by only half of its ttl. */
  'jobs-lost-too-early': [
    {
      file: 'engine/leases',
      find: 'entry.deadlineMs = this.#uptimeMs() + entry.ttlMs;',
      replace: 'entry.deadlineMs = this.#uptimeMs() + entry.ttlMs / 2;',
    },
  ],
  /** Leases held before a restart never expire. */
  'jobs-start-forgets-leases': [
    {
      file: 'engine/leases',
      find: 'for (const { ttlMs, ...lease } of heldLeases) watch.watch(lease, ttlMs);',
      replace: '',
    },
  ],
  /** Old cursors are still accepted after buffered writes were lost. */
  'jobs-buffered-cursors-not-reset': [
    {
      file: 'embedded/load-rows',
      find: 'generation: stored.generation + 1',
      replace: 'generation: stored.generation',
    },
  ],
  /** The marker that there are buffered writes is itself only buffered. */
  'jobs-buffered-mark-not-synced': [
    { file: ADAPTER, find: 'isSynced ||= marksBuffered;', replace: '' },
  ],
  /** A clean stop treats buffered writes as durable. */
  'jobs-stop-trusts-buffered': [
    { file: ADAPTER, find: 'try { await storage.secure();', replace: 'try {' },
  ],
  /** A change is stamped with the wall clock, which can step back. */
  'jobs-timestamp-falls': [
    {
      file: 'core/rows',
      find: 'Math.max(head.timestampMs, Math.floor(nowMs))',
      replace: 'Math.floor(nowMs)',
    },
  ],
  /** The cells of a deleted job are not removed. */
  'jobs-delete-leaves-rows': [
    {
      file: ADAPTER,
      find: '[KeyKind.log, KeyKind.cell,',
      replace: '[KeyKind.log,',
    },
  ],
  /** Creating a job that exists returns the number of tasks that was asked for. */
  'jobs-tasks-as-asked': [
    {
      file: WRITES,
      find: "if (decision.kind === 'unchanged') return { job: decision.info, created: false };",
      replace:
        "if (decision.kind === 'unchanged') return { job: { ...decision.info, numTasks: spec.numTasks }, created: false };",
    },
  ],
} as const satisfies Readonly<Record<string, readonly SourceEdit[]>>;

export type PlantedJobsBug = keyof typeof SOURCE_EDITS;

export const PLANTED_JOBS_BUGS: readonly PlantedJobsBug[] = Object.keys(
  SOURCE_EDITS,
) as PlantedJobsBug[];

export function isPlantedJobsBug(name: string): name is PlantedJobsBug {
  return (PLANTED_JOBS_BUGS as readonly string[]).includes(name);
}
