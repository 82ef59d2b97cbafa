// A source for tests of the feed: the whole log in a list, and a lever for everything that can go wrong with it.
import { SynclineError } from '@syncline/kernel';
import type { JobChange } from '../../core/rows.js';
import { statusClass } from '../../status.js';
import type { JobFeedSource, JobFeedView } from '../job-feed.js';
import { changeTopics, type JobFilter, matchesFilter } from '../job-filter.js';
import { encodeChange, type StoredChange } from '../stored-change.js';

export interface LogSourceOptions {
  /** Changes per page of a view. */
  readonly pageMax: number;
  /** Called before each page, and before a view is given. */
  readonly beforeRead?: () => Promise<void>;
}

export class LogSource implements JobFeedSource {
  readonly #options: LogSourceOptions;
  readonly #versions = new Map<string, number>();
  #log: JobChange[] = [];
  #compactedTo = 0;
  #openings = 0;
  openViewsCount = 0;

  constructor(options: LogSourceOptions) {
    this.#options = options;
  }

  get log(): readonly JobChange[] {
    return this.#log;
  }

  revision(): number {
    return this.#log.length;
  }

  state(taskId: number, tag: string, status = 1): JobChange {
    const revision = this.#log.length + 1;
    const version = (this.#versions.get(`${taskId} ${tag}`) ?? 0) + 1;
    this.#versions.set(`${taskId} ${tag}`, version);
    return this.#commit({
      kind: 'state',
      revision,
      timestampMs: revision,
      state: {
        jobId: 'nightly',
        taskId,
        tag,
        status,
        statusClass: statusClass(status),
        message: '',
        timestampMs: revision,
        version,
        revision,
        eventId: `e${revision}`,
        schemaVersion: 1,
      },
    });
  }

  lease(taskId: number, state: 'held' | 'lost' = 'held'): JobChange {
    const revision = this.#log.length + 1;
    const lease = { taskId, epoch: 1, state, ttlMs: 1_000, expiresAtMs: 0, holder: 'h', revision };
    return this.#commit({ kind: 'lease', revision, timestampMs: revision, lease });
  }

  job(incarnation: string): JobChange {
    const revision = this.#log.length + 1;
    const fixed = { jobId: 'nightly', incarnation, numTasks: 4, expectedTags: [], labels: {} };
    const job = { ...fixed, createdAtMs: 1, revision, changedAtMs: revision };
    return this.#commit({ kind: 'job', revision, timestampMs: revision, job });
  }

  /** Views still have every change, but say that they might not. */
  compact(keepCount: number): void {
    this.#compactedTo = Math.max(this.#compactedTo, this.#log.length - keepCount);
  }

  /** Closes its views, as a store that is opened anew. */
  reopen(): void {
    this.#openings += 1;
  }

  /** Another past: an empty one. */
  forget(): void {
    this.#log = [];
    this.#versions.clear();
    this.#compactedTo = 0;
    this.reopen();
  }

  async view(filter: JobFilter): Promise<JobFeedView> {
    await this.#options.beforeRead?.();
    const log = this.#log.map(encodeChange);
    const compactedTo = this.#compactedTo;
    const opening = this.#openings;
    this.openViewsCount += 1;
    const pages = (changes: readonly StoredChange[], after: number) => {
      const wanted = changes.filter(
        (change) => change.revision > after && matchesFilter(filter, change),
      );
      return this.#pages(wanted, opening);
    };
    const changes = log.filter(({ revision }) => revision > compactedTo);
    return {
      revision: log.length,
      compactedTo,
      latest: (after) => pages(latestOf(log), after),
      changes: (after) => pages(changes, after),
      close: () => {
        this.openViewsCount -= 1;
      },
    };
  }

  #commit(change: JobChange): JobChange {
    this.#log.push(change);
    return change;
  }

  async *#pages(
    changes: readonly StoredChange[],
    opening: number,
  ): AsyncGenerator<readonly StoredChange[]> {
    const { pageMax, beforeRead } = this.#options;
    for (let at = 0; at < changes.length; at += pageMax) {
      await beforeRead?.();
      if (this.#openings !== opening) throw new SynclineError('unavailable', 'opened anew');
      yield changes.slice(at, at + pageMax);
    }
  }
}

function latestOf(log: readonly StoredChange[]): readonly StoredChange[] {
  const byKey = new Map(log.map((change) => [changeTopics(change)[0], change.revision]));
  return log.filter((change) => byKey.get(changeTopics(change)[0]) === change.revision);
}
