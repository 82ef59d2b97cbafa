// Bugs that the job store and its managers can be given, one at a time, to prove that the simulation finds them.
// None is in the code under test: each is an edit of the text of a module, which is loaded beside the real one.
import type { SourceEdit } from '../../simulation/load-edited.js';

const COMMITS = 'engine/commits';
const WRITES = 'engine/job-writes';
const ADAPTER = 'embedded/embedded-adapter';
const SET_STATE = 'core/decide-set-state';

export const SOURCE_EDITS = {
  /** Subscribers get a change when it is handed to the disk. */
  'jobs-publish-before-sync': [
    {
      file: COMMITS,
      find: 'for (const staged of batch.jobs) if (staged.hasChanged) this.#apply(staged);',
      replace: '',
    },
    {
      file: COMMITS,
      find: 'for (const staged of batch.jobs) if (staged.hasChanged) this.#publish(staged);',
      replace: '',
    },
    { file: COMMITS, find: 'await adapter.commit(', replace: 'const storing = adapter.commit(' },
    {
      file: COMMITS,
      find: 'return batch.toCommit(); });',
      replace: `return batch.toCommit(); });
        const changed = (batch?.jobs ?? []).filter(({ hasChanged }) => hasChanged);
        for (const staged of changed) this.#apply(staged);
        for (const staged of changed) this.#publish(staged);
        await storing;`,
    },
  ],
  /** Answers leave when their batch is handed to the disk. */
  'jobs-ack-before-sync': [
    {
      file: COMMITS,
      find: 'return batch.toCommit();',
      replace:
        'const commit = batch.toCommit(); for (const request of taken) request.done(); return commit;',
    },
  ],
  /** A batch with a synced write in it is only buffered. */
  'jobs-synced-as-buffered': [
    {
      file: ADAPTER,
      find: "durability: isSynced ? 'synced' : 'buffered'",
      replace: "durability: marksBuffered ? 'synced' : 'buffered'",
    },
  ],
  /** Claims, releases and losses are not synced. */
  'jobs-epoch-not-durable': [
    {
      file: WRITES,
      find: 'staged?.stage(decision); batch.requireSynced(); return decision.lease;',
      replace: 'staged?.stage(decision); return decision.lease;',
    },
    {
      file: 'engine/leases',
      find: 'staged.stage(decision); batch.requireSynced();',
      replace: 'staged.stage(decision);',
    },
  ],
  /** A retry of a write that was applied is applied again. */
  'jobs-event-id-forgotten': [
    { file: SET_STATE, find: 'recent: remembered(latest, cell)', replace: 'recent: []' },
  ],
  /** Whoever claimed the task once may write for ever. */
  'jobs-fence-skipped': [
    {
      file: SET_STATE,
      find: 'tombstoneRefusal(job) ?? fenceRefusal(job, task, write)',
      replace: 'tombstoneRefusal(job)',
    },
  ],
  /** A manager sends each attempt of a write under a new event id. */
  'jobs-new-event-id': [
    {
      file: 'manager/state-writer',
      find: 'return await store.setState(write, options);',
      replace:
        "return await store.setState({ ...write, eventId: Buffer.from(this.#access.random.bytes(16)).toString('hex') }, options);",
    },
  ],
  /** The record of the latest state of a key leaves the log. */
  'jobs-compaction-drops-latest': [
    {
      file: 'engine/compaction',
      find: 'return staged.latestRevision(change) > change.revision;',
      replace:
        "return staged.latestRevision(change) >= change.revision + (change.kind === 'state' ? 0 : 1);",
    },
  ],
  /** A record is removed for good although what replaced it is only buffered. */
  'jobs-compaction-not-secured': [
    { file: ADAPTER, find: 'if (!cell.isBuffered) continue;', replace: 'continue;' },
  ],
  /** Who resumes behind what was compacted gets what is left, as if it were all. */
  'jobs-gap-not-told': [
    {
      file: 'embedded/embedded-view',
      find: 'this.compactedTo = deps.job.head.compactedTo;',
      replace: 'this.compactedTo = 0;',
    },
  ],
  /** A resume begins one change too late. */
  'jobs-resume-off-by-one': [
    {
      file: 'engine/job-feed',
      find: "after: revision, seen: isReplaying ? 'replay' : 'all'",
      replace:
        "after: isReplaying ? revision : Math.min(revision + 1, this.#deps.source.revision()), seen: isReplaying ? 'replay' : 'all'",
    },
  ],
  /** Renewals are answered and have no effect. */
  'jobs-renewal-ignored': [
    {
      file: WRITES,
      find: "if (lease.state === 'held') this.#deps.leases.extend(incarnation, taskId);",
      replace: '',
    },
  ],
  /** A renewal gives half of the time that it should. */
  'jobs-lost-too-early': [
    {
      file: 'engine/lease-watch',
      find: 'entry.deadlineMs = this.#uptimeMs() + entry.ttlMs;',
      replace: 'entry.deadlineMs = this.#uptimeMs() + entry.ttlMs / 2;',
    },
  ],
  /** Leases that were held before a restart are never lost. */
  'jobs-start-forgets-leases': [
    {
      file: 'engine/leases',
      find: 'for (const { ttlMs, ...lease } of start.heldLeases) this.#watch.watch(lease, ttlMs);',
      replace: '',
    },
  ],
  /** After a loss of buffered writes old cursors are taken for good. */
  'jobs-buffered-cursors-not-reset': [
    {
      file: 'embedded/embedded-start',
      find: 'generation: stored.generation + 1',
      replace: 'generation: stored.generation',
    },
  ],
  /** That there are buffered writes is itself only buffered. */
  'jobs-buffered-mark-not-synced': [
    { file: ADAPTER, find: 'isSynced ||= marksBuffered;', replace: '' },
  ],
  /** A stop in order takes buffered writes for durable. */
  'jobs-stop-trusts-buffered': [{ file: ADAPTER, find: 'await storage.secure();', replace: '' }],
  /** The time of a change is that of the clock, which steps. */
  'jobs-timestamp-falls': [
    {
      file: 'core/next-change',
      find: 'Math.max(head.timestampMs, Math.floor(nowMs))',
      replace: 'Math.floor(nowMs)',
    },
  ],
  /** The cells of a deleted job stay. */
  'jobs-delete-leaves-rows': [
    { file: 'embedded/deletions', find: 'KeyKind.log, KeyKind.cell,', replace: 'KeyKind.log,' },
  ],
  /** Whoever finds a job that is there gets the number of tasks that it asked for. */
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
