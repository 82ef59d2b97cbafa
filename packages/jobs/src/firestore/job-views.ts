// The jobs that a store listens to.
import { SynclineError } from '@syncline/kernel';
import type { JobRow } from '../core/rows.js';
import { jobsLimits } from '../limits.js';
import type { JobsMetrics } from '../metrics-list.js';
import type { JobView } from './job-view.js';

export interface JobViewsDeps {
  readonly metrics: JobsMetrics;
  readonly create: (job: JobRow, onEnded: () => void) => JobView;
}

export class JobViews {
  readonly #deps: JobViewsDeps;
  readonly #views = new Map<string, JobView>();

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
    const view = this.#deps.create(job, () => {
      if (this.#views.get(job.jobId) === view) this.#views.delete(job.jobId);
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

  /** Those not used for longest leave first; those with subscribers stay. */
  #makeRoom(): void {
    const { value: bytesMax } = jobsLimits.cacheBytesMax;
    const views = [...this.#views.values()].sort((a, b) => a.usedAtMs - b.usedAtMs);
    let bytes = views.reduce((sum, view) => sum + view.cacheBytes, 0);
    for (const view of views) {
      if (bytes <= bytesMax) break;
      if (view.feed.subscribersCount > 0) continue;
      bytes -= view.cacheBytes;
      void view.stop();
    }
    this.#deps.metrics.set('syncline_jobs_cache_bytes', bytes);
    if (bytes <= bytesMax) return;
    throw new SynclineError(
      'limit-exceeded',
      `the jobs that are subscribed to fill ${bytes} bytes; ${bytesMax} is the limit. End subscriptions, or use another process.`,
      { details: { limit: 'cacheBytesMax' } },
    );
  }
}
