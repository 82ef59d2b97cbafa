// Pipelines run in their own processes and report their progress to a node.
//
//   PUT /api/streams/{pipeline}    the progress of one slot; the newest report wins
//   GET /api/streams               the latest reports
//
// Reports are kept in memory only: a pipeline reports again within a second.
import { type Clock, SynclineError } from '@syncline/kernel';
import { z } from 'zod';
import { type LiveView, snapshotSource } from '../../dashboard/live-view.js';
import type { HttpReply, HttpRequest, HttpRoute } from '../../http/http-route.js';
import { parseBody } from '../../http/json-body.js';
import { serverLimits } from '../../limits.js';
import type { Slice } from '../../slice.js';

const INTERVAL_MS = 1_000;
const RATES_MAX = 60;

const count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const text = z.string().max(1_024);

const progressSchema = z.object({
  pipeline: text.min(1).max(128),
  slot: count.default(0),
  state: text.min(1).max(32),
  epoch: count.default(0),
  generation: count.default(0),
  recordsIn: count.default(0),
  recordsOut: count.default(0),
  lagRecords: count.nullish(),
  watermarkMs: z.number().nullish(),
  heldBackBy: text.nullish(),
  /** The duration of the last checkpoint. */
  lastCheckpointMs: z.number().nullish(),
  checkpointBytes: count.nullish(),
  error: text.nullish(),
});

type PipelineProgress = z.infer<typeof progressSchema>;

interface Report extends PipelineProgress {
  readonly reportedAtMs: number;
  /** When a report with this epoch first arrived: the age of the checkpoint. */
  readonly epochAtMs: number;
  readonly recordsInPerSecond: number;
  readonly recordsOutPerSecond: number;
  /** Records in per second, one value per report, oldest first. */
  readonly rates: readonly number[];
}

export function createStreamsSlice(): Slice {
  return {
    name: 'streams',
    metrics: {},
    limits: {},
    listeners: [],
    async start({ clock }) {
      const reports = new PipelineReports(clock);
      return {
        http: streamsRoutes(reports),
        views: [streamsView(reports)],
        status: () => ({
          health: { kind: 'ready' },
          details: { pipelines: reports.list().length },
        }),
        stop: () => Promise.resolve(),
      };
    },
  };
}

class PipelineReports {
  readonly #clock: Clock;
  readonly #reports = new Map<string, Report>(); // the least recent first

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  take(progress: PipelineProgress): void {
    const key = JSON.stringify([progress.pipeline, progress.slot]);
    const before = this.#reports.get(key);
    const reportedAtMs = this.#clock.nowMs();
    const seconds = Math.max(1, reportedAtMs - (before?.reportedAtMs ?? reportedAtMs)) / 1_000;
    // Counts continue from the checkpoint, so the first report of a generation is only a baseline.
    const isBaseline = before?.generation !== progress.generation;
    const rate = (name: 'recordsIn' | 'recordsOut') =>
      isBaseline ? 0 : Math.max(0, Math.round((progress[name] - before[name]) / seconds));
    const recordsInPerSecond = rate('recordsIn');
    this.#reports.delete(key);
    this.#reports.set(key, {
      ...progress,
      reportedAtMs,
      epochAtMs: before?.epoch === progress.epoch ? before.epochAtMs : reportedAtMs,
      recordsInPerSecond,
      recordsOutPerSecond: rate('recordsOut'),
      rates: [...(before?.rates ?? []), recordsInPerSecond].slice(-RATES_MAX),
    });
    const [oldest] = this.#reports.keys();
    if (this.#reports.size > serverLimits.pipelineReportsMax.value && oldest !== undefined)
      this.#reports.delete(oldest);
  }

  list(): readonly Report[] {
    const oldestMs = this.#clock.nowMs() - serverLimits.pipelineReportAgeMaxMs.value;
    for (const [key, { reportedAtMs }] of this.#reports) {
      if (reportedAtMs < oldestMs) this.#reports.delete(key);
    }
    return [...this.#reports.values()].sort(
      (a, b) => a.pipeline.localeCompare(b.pipeline) || a.slot - b.slot,
    );
  }
}

function streamsView(reports: PipelineReports): LiveView {
  const read = () => ({ pipelines: reports.list() });
  return { name: 'streams', parameters: [], open: () => snapshotSource(INTERVAL_MS, read) };
}

function streamsRoutes(reports: PipelineReports): readonly HttpRoute[] {
  const report = progressSchema.extend({
    reportedAtMs: z.number(),
    epochAtMs: z.number(),
    recordsInPerSecond: z.number(),
    recordsOutPerSecond: z.number(),
    rates: z.array(z.number()),
  });
  return [
    {
      method: 'GET',
      path: '',
      handle: () => ({ kind: 'json', body: { pipelines: reports.list() } }),
      doc: {
        summary: 'Pipelines that report to this node.',
        reply: z.object({ pipelines: z.array(report) }),
      },
    },
    {
      method: 'PUT',
      path: '/:pipeline',
      handle: (request) => takeReport(reports, request),
      doc: { summary: 'Reports the progress of one slot of a pipeline.', body: progressSchema },
    },
  ];
}

function takeReport(reports: PipelineReports, { params, body }: HttpRequest): HttpReply {
  const given = typeof body === 'object' && body !== null ? body : {};
  const progress = parseBody(progressSchema, { pipeline: params['pipeline'], ...given });
  if (progress.pipeline !== params['pipeline']) {
    const message = 'the pipeline in the body differs from the one in the path.';
    throw new SynclineError('invalid-argument', message, { details: { field: 'pipeline' } });
  }
  reports.take(progress);
  return { kind: 'empty' };
}
