// What the dashboard shows of the jobs: a list that can be searched, one job as a grid, and one cell of it.
import type { JobList, JobStore, JobSummary, StatusClass } from '@syncline/jobs';
import { type Clock, SynclineError } from '@syncline/kernel';
import { z } from 'zod';
import { type LiveSource, type LiveView, snapshotSource } from '../../dashboard/live-view.js';
import type { RateDefinition } from '../../dashboard/rate-history.js';
import type { HttpReply, HttpRequest, HttpRoute } from '../../http/http-route.js';
import { refuseUnknownParameters } from '../../http/query-parameters.js';
import { serverLimits } from '../../limits.js';
import { JobGrid } from './job-grid.js';
import { jobQueryOf, scopeOf } from './job-query.js';

const LIST_INTERVAL_MS = 1_000;

export const jobsRates: readonly RateDefinition[] = [
  { name: 'writes', metric: 'syncline_jobs_write_duration_seconds' },
  { name: 'errors', metric: 'syncline_jobs_write_errors_total' },
];

export interface JobsViewDeps {
  readonly store: JobStore;
  readonly clock: Clock;
  limitReached(limit: string): void;
}

interface FoundJobs {
  readonly jobs: readonly JobSummary[];
  readonly damaged: readonly string[];
  readonly hasMore: boolean;
}

export class JobsViews {
  readonly views: readonly LiveView[];
  readonly routes: readonly HttpRoute[];
  readonly #deps: JobsViewDeps;
  readonly #grids = new Map<string, JobGrid>();

  constructor(deps: JobsViewDeps) {
    this.#deps = deps;
    this.views = [
      {
        name: 'jobs',
        parameters: ['q', 'worst'],
        open: (query, live) => this.#openList(query, live),
      },
      { name: 'job', parameters: ['job'], open: (query) => this.#openGrid(query.get('job') ?? '') },
    ];
    const reply = z.object({
      state: z.unknown().optional(),
      lease: z.looseObject({ state: z.string(), holder: z.string() }).optional(),
      recent: z.array(z.looseObject({ revision: z.number() })),
    });
    const query = { task: z.string(), tag: z.string() };
    const summary = 'One cell: its state, the lease of its task, and its recent changes.';
    this.routes = [
      {
        method: 'GET',
        path: '/:job/cell',
        handle: (request) => this.#showCell(request),
        doc: { summary, query, reply },
      },
    ];
  }

  #openList(query: URLSearchParams, { rates }: Parameters<LiveView['open']>[1]): LiveSource {
    const text = (query.get('q') ?? '').toLowerCase();
    const worst = query.get('worst');
    const { worst: wanted } = jobQueryOf(new URLSearchParams(worst === null ? {} : { worst }));
    return snapshotSource(LIST_INTERVAL_MS, async () => ({
      ...(await this.#search(text, wanted)),
      rates: rates.of('jobs'),
    }));
  }

  /** Walks the pages of the store until enough is found. The store knows prefixes only. */
  async #search(text: string, worst: StatusClass | undefined): Promise<FoundJobs> {
    const { liveListMax, liveJobsScannedMax } = serverLimits;
    const jobs: JobSummary[] = [];
    const damaged: string[] = [];
    let scanned = 0;
    let after: string | undefined;
    do {
      const page: JobList = await this.#deps.store.listJobs({
        limit: text === '' ? liveListMax.value : 1_000,
        ...(worst === undefined ? {} : { worst }),
        ...(after === undefined ? {} : { afterJobId: after }),
      });
      scanned += page.jobs.length;
      jobs.push(...page.jobs.filter(({ job }) => job.jobId.toLowerCase().includes(text)));
      damaged.push(...(page.damaged ?? []));
      after = page.next;
    } while (
      after !== undefined &&
      jobs.length < liveListMax.value &&
      scanned < liveJobsScannedMax.value
    );
    return {
      jobs: jobs.slice(0, liveListMax.value),
      damaged: damaged.slice(0, liveListMax.value),
      hasMore: after !== undefined || jobs.length > liveListMax.value,
    };
  }

  #openGrid(jobId: string): LiveSource {
    const { value: gridsMax } = serverLimits.liveGridsMax;
    if (this.#grids.size >= gridsMax && !this.#grids.has(jobId)) {
      throw new SynclineError(
        'overloaded',
        `${gridsMax} job grids are open on this node, which is the limit. Close some, or use another node.`,
        { details: { limit: 'liveGridsMax' } },
      );
    }
    const onStop = (): void => {
      if (this.#grids.get(jobId) === grid) this.#grids.delete(jobId);
    };
    const grid: JobGrid = new JobGrid({ ...this.#deps, onStop }, jobId);
    this.#grids.set(jobId, grid);
    return grid;
  }

  async #showCell({ params, query, signal }: HttpRequest): Promise<HttpReply> {
    refuseUnknownParameters(query, ['task', 'tag']);
    const jobId = params['job'] ?? '';
    const { taskId = 0, tag = '' } = scopeOf(query);
    const grid = this.#grids.get(jobId);
    const state = await this.#deps.store.getState(jobId, taskId, tag, { signal });
    const lease = grid?.leaseOf(taskId);
    return { kind: 'json', body: { state, lease, recent: grid?.recentOf(taskId, tag) ?? [] } };
  }
}
