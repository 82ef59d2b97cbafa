// One job as the dashboard draws it: a byte per cell, kept up to date by one subscription for all pages.
//
//   subscription ─ state, lease, job ─▶ cells, counts, recent changes ─ sample ─▶ delta
//
// A byte is the status class. A page gets the cells of each tag as base64, in parts, and then the changed cells. The
// rest of a state is requested when a user looks at the cell.
import type {
  JobEvent,
  JobInfo,
  JobStore,
  JobSubscription,
  State,
  TaskLease,
} from '@syncline/jobs';
import { type Clock, SynclineError } from '@syncline/kernel';
import type { LiveSample, LiveSource } from '../../dashboard/live-view.js';
import { serverLimits } from '../../limits.js';

/** The order of the bytes. */
const CLASSES = ['not-started', 'running', 'finished', 'warned', 'failed'] as const;
const INTERVAL_MS = 200;
/** A delta with more changed cells is longer than the picture itself. */
const DELTA_CELLS_MAX = 20_000;
const RECENT_MAX = 200;
const RECENT_PER_DELTA_MAX = 40;
const HISTORY_INTERVAL_MS = 1_000;
const HISTORY_MAX = 300;
const BATCH_EVENTS_MAX = 512;
const MESSAGE_LENGTH_MAX = 200;
const SHARES = 10_000;

export interface GridChange {
  readonly task: number;
  readonly tag: string;
  readonly status: number;
  readonly class: number;
  readonly message: string;
  readonly version: number;
  readonly revision: number;
  readonly timestampMs: number;
}

interface TagColumn {
  readonly tag: string;
  /** A class per task. */
  readonly cells: Uint8Array;
  /** How many cells of each class. */
  readonly counts: number[];
  /** The progress of each unfinished cell, in units of 1/SHARES, and their sum. */
  readonly shares: Uint16Array;
  sharesSum: number;
  /** Tasks whose cells have changed since the last sample. */
  readonly changed: Set<number>;
}

export interface JobGridDeps {
  readonly store: JobStore;
  readonly clock: Clock;
  onStop(): void;
}

export class JobGrid implements LiveSource {
  readonly intervalMs = INTERVAL_MS;
  readonly #deps: JobGridDeps;
  readonly #jobId: string;
  readonly #stopping = new AbortController();
  #job: JobInfo | undefined;
  #columns = new Map<string, TagColumn>();
  /** How many cells of each class, over all tags. */
  #totals = CLASSES.map(() => 0);
  #hiddenTags = new Set<string>();
  #leases = new Map<number, TaskLease>();
  #lostCount = 0;
  readonly #recent: GridChange[] = [];
  #fresh: GridChange[] = [];
  readonly #history: number[][] = [];
  #historyAtMs = 0;
  #changesCount = 0;
  #ratePerSecond = 0;
  #isSynced = false;
  #isDeleted = false;
  #staleSinceMs: number | undefined;
  #isReplaced = false;
  #sentHead = '';
  #failure: SynclineError | undefined;

  constructor(deps: JobGridDeps, jobId: string) {
    this.#deps = deps;
    this.#jobId = jobId;
  }

  async start(): Promise<void> {
    const { store, clock } = this.#deps;
    const { signal } = this.#stopping;
    const job = await store.getJob(this.#jobId, { signal });
    if (job === undefined) {
      const shown = JSON.stringify(this.#jobId.slice(0, 128));
      throw new SynclineError(
        'not-found',
        `no such job on this server: ${shown}. It may have been deleted.`,
      );
    }
    this.#job = job;
    for (const tag of job.expectedTags) this.#columnOf(tag);
    this.#historyAtMs = clock.monotonicMs();
    const subscription = store.subscribe(this.#jobId, {
      scope: {},
      include: ['lease', 'job'],
      overflow: 'coalesce',
      signal,
    });
    void this.#follow(subscription);
  }

  stop(): void {
    this.#stopping.abort();
    this.#deps.onStop();
  }

  leaseOf(task: number): TaskLease | undefined {
    return this.#leases.get(task);
  }

  recentOf(task: number, tag: string): readonly GridChange[] {
    return this.#recent.filter((change) => change.task === task && change.tag === tag);
  }

  sample(): LiveSample {
    if (this.#failure !== undefined) throw this.#failure;
    this.#sampleHistory();
    const changes = this.#takeChanges();
    const recent = this.#fresh.slice(-RECENT_PER_DELTA_MAX);
    this.#fresh = [];
    if (this.#isReplaced || changes === undefined) {
      this.#isReplaced = false;
      return { kind: 'replaced' };
    }
    const head = this.#head();
    const json = JSON.stringify(head);
    if (changes.length === 0 && recent.length === 0 && json === this.#sentHead)
      return { kind: 'unchanged' };
    this.#sentHead = json;
    return { kind: 'delta', json: JSON.stringify({ ...head, changes, recent }) };
  }

  partsCount(): number {
    return 1 + this.#columns.size * this.#piecesPerTag();
  }

  /** The head, then the cells of each tag in pieces. */
  part(index: number): string {
    const columns = [...this.#columns.values()];
    if (index === 0) {
      return JSON.stringify({
        ...this.#head(),
        job: this.#job,
        hiddenTags: this.#hiddenTags.size,
        recent: this.#recent.slice(-RECENT_PER_DELTA_MAX),
        history: this.#history,
      });
    }
    const pieces = this.#piecesPerTag();
    const column = columns[Math.floor((index - 1) / pieces)];
    if (column === undefined) return 'null'; // the job was reset in the meantime; the next sample replaces everything
    const { value: bytesMax } = serverLimits.livePartBytesMax;
    const from = ((index - 1) % pieces) * bytesMax;
    const cells = Buffer.from(column.cells.subarray(from, from + bytesMax)).toString('base64');
    return JSON.stringify({ tag: column.tag, from, cells });
  }

  #piecesPerTag(): number {
    return Math.ceil((this.#job?.numTasks ?? 0) / serverLimits.livePartBytesMax.value);
  }

  #head(): Readonly<Record<string, unknown>> {
    return {
      revision: this.#job?.revision ?? 0,
      isSynced: this.#isSynced,
      isDeleted: this.#isDeleted,
      staleSinceMs: this.#staleSinceMs,
      deletedAtMs: this.#job?.deletedAtMs,
      lostTasks: this.#lostCount,
      heldTasks: this.#leases.size - this.#lostCount,
      changesPerSecond: this.#ratePerSecond,
      tags: [...this.#columns.values()].map(({ tag, counts, sharesSum }) => {
        return { tag, counts, partly: sharesSum / SHARES };
      }),
    };
  }

  /** Undefined: too many for a delta. */
  #takeChanges(): readonly unknown[] | undefined {
    let count = 0;
    const changes: unknown[] = [];
    for (const { tag, cells, changed } of this.#columns.values()) {
      count += changed.size;
      if (changed.size > 0 && count <= DELTA_CELLS_MAX) {
        const flat: number[] = [];
        for (const task of changed) flat.push(task, cells[task] ?? 0);
        changes.push({ tag, cells: flat });
      }
      changed.clear();
    }
    return count > DELTA_CELLS_MAX ? undefined : changes;
  }

  #sampleHistory(): void {
    const nowMs = this.#deps.clock.monotonicMs();
    const elapsedMs = nowMs - this.#historyAtMs;
    if (elapsedMs < HISTORY_INTERVAL_MS) return;
    this.#historyAtMs = nowMs;
    this.#ratePerSecond = Math.round((this.#changesCount * 1_000) / elapsedMs);
    this.#changesCount = 0;
    if (this.#isSynced) this.#recordHistory(this.#deps.clock.nowMs());
  }

  /** Changes that are close together share an entry: the time of the first, and what holds after the last. */
  #recordHistory(atMs: number): void {
    const lastAtMs = this.#history.at(-1)?.[0] ?? 0;
    const isNew = atMs - lastAtMs >= HISTORY_INTERVAL_MS / 2;
    if (!isNew) this.#history.pop();
    this.#history.push([isNew ? atMs : lastAtMs, ...this.#totals]);
    if (this.#history.length > HISTORY_MAX) this.#history.shift();
  }

  async #follow(subscription: JobSubscription): Promise<void> {
    try {
      for await (const events of subscription.batches(BATCH_EVENTS_MAX)) {
        for (const event of events) {
          if (event.kind === 'gap' && event.reason === 'reset') await this.#reset();
          else this.#take(event);
        }
      }
    } catch (thrown) {
      this.#failure = SynclineError.from(thrown, 'unavailable');
    }
  }

  #take(event: JobEvent): void {
    switch (event.kind) {
      case 'snapshot':
        // A replay ascends by revision: it leaves the latest changes, and the time of each cell's last change.
        this.#setState(event.state);
        this.#remember(event.state);
        this.#recordHistory(event.state.timestampMs);
        return;
      case 'change':
        this.#setState(event.state);
        this.#changesCount += 1;
        this.#remember(event.state);
        return;
      case 'synced':
        this.#isSynced = true;
        this.#isReplaced = true;
        this.#advance(event.revision);
        return;
      case 'gap':
        if (event.reason === 'deleted') this.#isDeleted = true; // after others, the latest states follow
        return;
      case 'stale':
        this.#staleSinceMs = event.sinceMs;
        return;
      case 'live':
        this.#staleSinceMs = undefined;
        this.#advance(event.revision);
        return;
      case 'lease':
        this.#advance(event.lease.revision);
        this.#setLease(event.lease);
        return;
      case 'job':
        this.#job = event.job;
        for (const tag of event.job.expectedTags) this.#columnOf(tag);
        this.#isReplaced = true;
    }
  }

  /** The job may be another one, with more tasks. The replay that follows may name it only after its states. */
  async #reset(): Promise<void> {
    const { signal } = this.#stopping;
    this.#job = (await this.#deps.store.getJob(this.#jobId, { signal })) ?? this.#job;
    this.#columns = new Map();
    this.#totals = CLASSES.map(() => 0);
    this.#hiddenTags = new Set();
    this.#leases = new Map();
    this.#lostCount = 0;
    this.#isSynced = false;
    this.#isReplaced = true;
    for (const tag of this.#job?.expectedTags ?? []) this.#columnOf(tag);
  }

  #setState({ taskId, tag, statusClass, progress = 0, revision }: State): void {
    this.#advance(revision);
    const column = this.#columnOf(tag);
    if (column === undefined || taskId >= column.cells.length) return;
    const before = column.cells[taskId] ?? 0;
    const after = CLASSES.indexOf(statusClass);
    for (const counts of [column.counts, this.#totals]) {
      counts[before] = (counts[before] ?? 0) - 1;
      counts[after] = (counts[after] ?? 0) + 1;
    }
    column.cells[taskId] = after;
    const share = statusClass === 'finished' ? 0 : Math.round(progress * SHARES);
    column.sharesSum += share - (column.shares[taskId] ?? 0);
    column.shares[taskId] = share;
    if (this.#isSynced) column.changed.add(taskId);
  }

  /** Every kind of change counts: a state, a lease, the metadata. */
  #advance(revision: number): void {
    const job = this.#job;
    if (job !== undefined && revision > job.revision) this.#job = { ...job, revision };
  }

  #columnOf(tag: string): TagColumn | undefined {
    const known = this.#columns.get(tag);
    if (known !== undefined) return known;
    const numTasks = this.#job?.numTasks ?? 0;
    if ((this.#columns.size + 1) * numTasks > serverLimits.liveGridCellsMax.value) {
      this.#hiddenTags.add(tag);
      return undefined;
    }
    const column: TagColumn = {
      tag,
      cells: new Uint8Array(numTasks),
      counts: CLASSES.map((_, at) => (at === 0 ? numTasks : 0)),
      shares: new Uint16Array(numTasks),
      sharesSum: 0,
      changed: new Set(),
    };
    this.#columns.set(tag, column);
    this.#totals[0] = (this.#totals[0] ?? 0) + numTasks;
    this.#isReplaced = true;
    return column;
  }

  #setLease(lease: TaskLease): void {
    const wasLost = this.#leases.get(lease.taskId)?.state === 'lost';
    if (lease.state === 'released') this.#leases.delete(lease.taskId);
    else this.#leases.set(lease.taskId, lease);
    this.#lostCount += Number(lease.state === 'lost') - Number(wasLost);
  }

  #remember(state: State): void {
    const change: GridChange = {
      task: state.taskId,
      tag: state.tag,
      status: state.status,
      class: CLASSES.indexOf(state.statusClass),
      message: state.message.slice(0, MESSAGE_LENGTH_MAX),
      version: state.version,
      revision: state.revision,
      timestampMs: state.timestampMs,
    };
    this.#recent.push(change);
    if (this.#recent.length > RECENT_MAX) this.#recent.shift();
    this.#fresh.push(change);
    if (this.#fresh.length > RECENT_PER_DELTA_MAX) this.#fresh.shift();
  }
}
