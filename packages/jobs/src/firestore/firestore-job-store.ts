// The store of jobs in Firestore, where the revision of a change is its commit time, and commits to a job run
// concurrently. So it has its own writes, and a mirror that a listener maintains (JobPicture). It shares rows,
// decisions, encoding, aggregates, lists and feeds with the engine of the other stores.
//
// Reads are served from the picture if there is a live listener for the job, and from Firestore otherwise. They see
// this store's own writes; the writes of others may become visible later.
import client, { type DocumentSnapshot, Firestore, type Settings } from '@google-cloud/firestore';
import { SynclineError } from '@syncline/kernel';
import { checkMembers, refuseUnless } from '@syncline/kernel/checks';
import { type CheckedJobQuery, checkScope } from '../checks/input.js';
import { checkBytes, checkJobId, checkTaskId } from '../checks/values.js';
import { hasCode, noSuchJob } from '../core/refusals.js';
import { jobInfoOf } from '../core/rows.js';
import { encodeState } from '../engine/changes.js';
import { LocalJobStore, type StoreReads } from '../engine/checked-job-store.js';
import { SubscriberQuota } from '../engine/job-feed.js';
import {
  jobListOf,
  type ListedSummary,
  progressOfJob,
  readPage,
  summaryOf,
} from '../engine/job-reads.js';
import { type EngineDeps, withSystemDeps } from '../engine/store-adapter.js';
import type { JobSummary } from '../job.js';
import type { JobStore, StoreCapabilities, StoreSubscribeOptions } from '../job-store.js';
import { ALL_CAPABILITIES } from '../job-store.js';
import { limitValues } from '../limits.js';
import type { ReconnectOptions } from '../reconnect.js';
import {
  FirestoreCalls,
  type FirestoreDeps,
  type FirestoreOptions,
  OPTIONS,
} from './firestore-calls.js';
import { FirestoreWrites } from './firestore-writes.js';
import { presentJob, readState } from './job-documents.js';
import { JobPicture } from './job-picture.js';
import { JobWatch } from './job-watch.js';

type Signal = AbortSignal | undefined;

/** Sorts after every character of a job id. */
const AFTER_ALL_NAMES = '\u007f';
const LIST_JOBS = 100;

class FirestoreJobStore extends LocalJobStore {
  readonly capabilities: StoreCapabilities = {
    ...ALL_CAPABILITIES,
    ...{ history: 'latest', reads: 'cached', lost: 'reader' },
  };
  protected readonly writes: FirestoreWrites;
  readonly #deps: FirestoreDeps;
  readonly #options: FirestoreOptions;
  readonly #calls: FirestoreCalls;
  readonly #quota: SubscriberQuota;
  readonly #watches = new Map<string, JobWatch>();
  /** Cached by `listJobs`, valid until the job changes. */
  readonly #summaries = new Map<string, JobSummary>();

  constructor(deps: FirestoreDeps, options: FirestoreOptions) {
    super(deps);
    this.#deps = deps;
    this.#options = options;
    this.#calls = new FirestoreCalls(deps, options);
    this.#quota = new SubscriberQuota(deps.metrics);
    this.writes = new FirestoreWrites({
      ...deps,
      calls: this.#calls,
      watchOf: (jobId) => this.#watches.get(jobId),
    });
  }

  protected readonly reads: StoreReads = {
    getJob: async (jobId, signal) => {
      const picture = this.#current(jobId);
      if (picture) return jobInfoOf(picture.row, picture.head);
      const { job } = this.#calls.documents(jobId);
      const row = presentJob(await this.#calls.read(readingOf(jobId), () => job.get(), { signal }));
      return row && this.writes.infoOf(row, signal);
    },

    getState: async (jobId, { taskId, tag }, signal) => {
      const picture = this.#current(jobId);
      if (picture) return picture.state({ taskId: checkTaskId(taskId, picture.row.numTasks), tag });
      const documents = this.#calls.documents(jobId);
      const read = () => this.#deps.firestore.getAll(documents.job, documents.state(taskId, tag));
      const [job, cell] = await this.#calls.read(readingOf(jobId), read, { signal });
      const row = presentJob(job);
      if (!row) throw noSuchJob(jobId);
      checkTaskId(taskId, row.numTasks);
      const state = cell && readState(cell)?.row;
      if (state) this.#watches.get(jobId)?.noteShown(state.revision);
      return state && encodeState(state);
    },

    listStates: async (jobId, scope, page, signal) => {
      const { picture } = await this.#read(jobId, signal);
      const { numTasks, incarnation } = picture.row;
      const filter = { scope: checkScope(scope, numTasks), withLeases: false, withJob: false };
      return readPage(picture.view(filter), incarnation, page);
    },

    progress: async (jobId, scope, signal) => {
      const { picture } = await this.#read(jobId, signal);
      const { read } = progressOfJob(picture, checkScope(scope, picture.row.numTasks));
      return read((cell) => picture.state(cell));
    },

    listJobs: (query, signal) => jobListOf(query, this.#listedAfter(query, signal)),
  };

  protected override async openSubscription(
    jobId: string,
    options: StoreSubscribeOptions,
    signal: AbortSignal,
  ) {
    this.begin(undefined);
    const { picture, watch } = await this.#read(checkJobId(jobId), signal);
    return watch.feed.open(options, picture.row.numTasks);
  }

  override status(): object {
    return { subscribers: this.#quota.count, cacheBytes: this.#cacheBytes };
  }

  protected override async end(): Promise<void> {
    const closed = new SynclineError('closed', 'the job store is closed');
    await Promise.all([...this.#watches.values()].map((watch) => watch.stop(closed)));
    await this.#calls.close();
  }

  #current(jobId: string): JobPicture | undefined {
    const picture = this.#watches.get(jobId)?.current;
    this.#deps.metrics.add(`syncline_jobs_cache_${picture ? 'hits' : 'misses'}_total`);
    return picture;
  }

  /** For reads that need a listener. Starts one if necessary. */
  async #read(jobId: string, signal: Signal) {
    this.#current(jobId); // for the metric
    for (;;) {
      const watch = this.#watches.get(jobId) ?? this.#startWatch(jobId);
      const picture = await watch.read(signal);
      if (picture) return { watch, picture };
      this.begin(signal); // the watch had just stopped
    }
  }

  async *#listedAfter({ prefix = '', afterJobId }: CheckedJobQuery, signal: Signal) {
    for (let after = afterJobId ?? ''; ; ) {
      const page = this.#calls.jobs
        .where('jobId', '>', after)
        .where('jobId', '>=', prefix)
        .where('jobId', '<', prefix + AFTER_ALL_NAMES)
        .orderBy('jobId')
        .limit(LIST_JOBS);
      const { docs } = await this.#calls.read('listing the jobs', () => page.get(), { signal });
      const found = await Promise.all(docs.map((document) => this.#listed(document, signal)));
      yield found.flatMap((listed) => listed ?? []);
      const last = docs.at(-1);
      if (!last || docs.length < LIST_JOBS) return;
      after = last.id;
    }
  }

  /** Reads all states of a job if it has changed since it was last listed. Undefined if it has been deleted. */
  async #listed(document: DocumentSnapshot, signal: Signal): Promise<ListedSummary | undefined> {
    const { id: jobId } = document;
    try {
      const row = presentJob(document);
      if (!row) return undefined;
      const current = this.#watches.get(jobId)?.current;
      if (current) return summaryOf(current);
      const { incarnation, revision } = await this.writes.infoOf(row, signal);
      const known = this.#summaries.get(jobId);
      if (known?.job.incarnation === incarnation && known.job.revision === revision) return known;
      const { states } = this.#calls.documents(jobId);
      const options = { signal, timeoutMs: this.#options.startTimeoutMs };
      const { docs } = await this.#calls.read(readingOf(jobId), () => states.get(), options);
      const picture = JobPicture.of(docs);
      const summary = picture && summaryOf(picture);
      if (this.#summaries.size >= limitValues.jobsMax) this.#summaries.clear();
      if (summary) this.#summaries.set(jobId, summary);
      return summary;
    } catch (thrown) {
      if (hasCode(thrown, 'corrupt')) return { damagedJobId: jobId };
      throw thrown;
    }
  }

  get #cacheBytes(): number {
    return [...this.#watches.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  #startWatch(jobId: string): JobWatch {
    const advice = '. End subscriptions, or use another process.';
    this.#makeRoom();
    checkBytes('cacheBytesMax', this.#cacheBytes, 'the cached states of subscribed jobs', advice);
    const onChanged = (changed: JobWatch) => {
      if (changed.hasEnded && this.#watches.get(jobId) === changed) this.#watches.delete(jobId);
      else this.#makeRoom();
      this.#deps.metrics.set('syncline_jobs_cache_bytes', this.#cacheBytes);
    };
    const parts = { calls: this.#calls, quota: this.#quota, writes: this.writes, jobId, onChanged };
    const watch = new JobWatch({ ...this.#deps, ...parts }, this.#options);
    this.#watches.set(jobId, watch);
    return watch;
  }

  /** Stops the least recently used watches first, but none that is in use. */
  #makeRoom(): void {
    const idle = [...this.#watches.values()].filter(({ isInUse }) => !isInUse);
    for (const watch of idle.sort((a, b) => a.usedAtMs - b.usedAtMs)) {
      if (this.#cacheBytes <= limitValues.cacheBytesMax) return;
      void watch.stop();
    }
  }
}

function readingOf(jobId: string): string {
  return `reading job "${jobId}"`;
}

// User options, and the factory.

export interface FirestoreJobStoreOptions {
  /** Required and never inferred: jobs of one project must not end up in another. */
  readonly projectId: string;
  /** Maximum number of concurrent calls to Firestore. Default: no limit. */
  readonly concurrencyMax?: number;
  /** How often and how long to try to listen again after the connection is lost. */
  readonly reconnect?: ReconnectOptions;
  /** How often, in ms, the newest changes are read to check that the listener is alive. Default 15,000. */
  readonly pollMs?: number;
  /** How long, in ms, the listener may lag behind those changes before it counts as dead. Default 5,000. */
  readonly reachTimeoutMs?: number;
  /** How long, in ms, the first snapshot may take, which reads every state of the job. Default 60,000. */
  readonly startTimeoutMs?: number;
  /** How long one call may take, in ms. Default 10,000. */
  readonly callTimeoutMs?: number;
  /** How long an unused listener is kept, in ms: starting a new one reads every state. Default 30,000. */
  readonly listenIdleMs?: number;
  /** The address of a server to use instead of Firestore, such as an emulator: `host:port`. Default: Firestore. */
  readonly host?: string;
  /** False for a server without TLS. Default true. */
  readonly ssl?: boolean;
  /** Default: the client library takes them from the environment. */
  readonly credentials?: { readonly client_email: string; readonly private_key: string };
}

export type FirestoreJobStoreDeps = EngineDeps;

/** Connects on the first call. */
export function createFirestoreJobStore(
  options: FirestoreJobStoreOptions,
  deps: Partial<FirestoreJobStoreDeps> = {},
): JobStore {
  const checked = checkFirestoreOptions(options);
  return new FirestoreJobStore({ ...withSystemDeps(deps), ...connect(options) }, checked);
}

export function checkFirestoreOptions(options: FirestoreJobStoreOptions): FirestoreOptions {
  const { projectId, host: _, ssl: __, credentials: ___, ...rest } = options;
  refuseUnless(typeof projectId === 'string' && projectId !== '', 'projectId', {
    value: projectId,
    wanted: 'the project of the Firestore database; it is never taken from the environment',
  });
  return checkMembers(rest, 'the options', OPTIONS);
}

/** The client, and a check of its credentials whose failure can be caught: see firestore-calls.ts. */
function connect({ projectId, host, ssl, credentials }: FirestoreJobStoreOptions) {
  const settings: Settings = {
    projectId,
    ...(host !== undefined && { host }),
    ...(ssl !== undefined && { ssl }),
    ...(credentials && { credentials }),
  };
  if (ssl === false) return { firestore: new Firestore(settings), authenticate: async () => {} };
  const { auth } = new client.v1.FirestoreClient(settings);
  const authenticate = async () => void (await auth.getRequestHeaders());
  return { firestore: new Firestore({ ...settings, auth }), authenticate };
}
