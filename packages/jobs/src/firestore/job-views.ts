// The jobs that a store listens to.
import { SynclineError } from '@syncline/kernel';
import type { JobRow } from '../core/rows.js';
import { jobsLimits } from '../limits.js';
import type { JobsMetrics } from '../metrics-list.js';
import type { JobView, JobViewDeps } from './job-view.js';

type JobViewHooks = Pick<JobViewDeps, 'onGrown' | 'onEnded'>;

export interface JobViewsDeps {
  readonly metrics: JobsMetrics;
  readonly create: (job: JobRow, hooks: JobViewHooks) => JobView;
}

export class JobViews {
  readonly #deps: JobViewsDeps;
  readonly #views = new Map<string, JobView>();
  #bytes = 0;

  constructor(deps: JobViewsDeps) {
    this.#deps = deps;
  }

  get(jobId: string): JobView | undefined {
    return this.#views.get(jobId);
  }

  /** The one that is there, or a new one that begins to listen. */
  open(job: JobRow): JobView {
    const known = this.#views.get(job.jobId);
    if (known) return known;
    this.#makeRoom();
    if (this.#bytes > jobsLimits.cacheBytesMax.value) throw cacheFull(this.#bytes);
    const view = this.#deps.create(job, {
      onGrown: (bytes) => this.#grow(bytes),
      onEnded: () => {
        if (this.#views.get(job.jobId) === view) this.#views.delete(job.jobId);
      },
    });
    this.#views.set(job.jobId, view);
    view.start();
    return view;
  }

  async close(): Promise<void> {
    const views = [...this.#views.values()];
    this.#views.clear();
    await Promise.all(views.map((view) => view.stop()));
  }

  #grow(bytes: number): void {
    this.#bytes += bytes;
    this.#deps.metrics.set('syncline_jobs_cache_bytes', this.#bytes);
    if (bytes > 0) this.#makeRoom();
  }

  /** Those not used for longest leave first; those that somebody waits for or subscribes to stay. */
  #makeRoom(): void {
    const { value: bytesMax } = jobsLimits.cacheBytesMax;
    if (this.#bytes <= bytesMax) return;
    const views = [...this.#views.values()].sort((a, b) => a.usedAtMs - b.usedAtMs);
    for (const view of views) {
      if (this.#bytes <= bytesMax) return;
      if (!view.isInUse) void view.stop();
    }
  }
}

function cacheFull(bytes: number): SynclineError {
  const { value: bytesMax } = jobsLimits.cacheBytesMax;
  return new SynclineError(
    'limit-exceeded',
    `the jobs that are subscribed to fill ${bytes} bytes; ${bytesMax} is the limit. End subscriptions, or use another process.`,
    { details: { limit: 'cacheBytesMax' } },
  );
}
