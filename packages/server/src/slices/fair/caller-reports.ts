// The most throttled callers, as reported by instances. The state service only knows cells; only an instance can
// map them to callers, and it decides whether to report their names.
//
//   PUT /api/fair/callers    the most throttled callers of one instance; the newest report wins
//
// Reports are kept in memory. An instance reports about once a second, and is forgotten soon after its last report.
import type { Clock } from '@syncline/kernel';
import { z } from 'zod';
import type { HttpReply, HttpRequest, HttpRoute } from '../../http/http-route.js';
import { parseBody } from '../../http/json-body.js';
import { serverLimits } from '../../limits.js';

const reportSchema = z.object({
  tracker: z.string().min(1).max(128),
  /** Identifies the instance within its tracker. */
  instance: z.string().min(1).max(128),
  callers: z
    .array(
      z.object({
        key: z.string().max(256),
        probability: z.number().min(0).max(1),
        throttledPerSecond: z.number().min(0).default(0),
      }),
    )
    .max(serverLimits.callersPerReportMax.value),
});

type CallerReport = z.infer<typeof reportSchema>;

export interface ThrottledCaller {
  readonly tracker: string;
  readonly key: string;
  /** The highest that any instance reported. */
  readonly probability: number;
  /** The sum over all instances. */
  readonly throttledPerSecond: number;
  readonly instances: number;
}

export class CallerReports {
  readonly route: HttpRoute = {
    method: 'PUT',
    path: '/callers',
    handle: (request) => this.#take(request),
    doc: { summary: 'Reports the most throttled callers of one instance.', body: reportSchema },
  };
  readonly #clock: Clock;
  readonly #reports = new Map<string, CallerReport & { readonly atMs: number }>(); // the least recent first

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The callers of one tracker, or of all trackers; the most throttled first. */
  of(tracker?: string): readonly ThrottledCaller[] {
    const oldestMs = this.#clock.monotonicMs() - serverLimits.callerReportAgeMaxMs.value;
    const callers = new Map<string, ThrottledCaller>();
    for (const [id, report] of this.#reports) {
      if (report.atMs < oldestMs) this.#reports.delete(id);
      else if (report.tracker === (tracker ?? report.tracker)) addTo(callers, report);
    }
    return [...callers.values()]
      .sort((a, b) => b.throttledPerSecond - a.throttledPerSecond || b.probability - a.probability)
      .slice(0, serverLimits.callersPerReportMax.value);
  }

  #take({ body }: HttpRequest): HttpReply {
    const report = parseBody(reportSchema, body);
    const id = JSON.stringify([report.tracker, report.instance]);
    this.#reports.delete(id);
    this.#reports.set(id, { ...report, atMs: this.#clock.monotonicMs() });
    const [oldest] = this.#reports.keys();
    if (this.#reports.size > serverLimits.callerReportsMax.value && oldest !== undefined)
      this.#reports.delete(oldest);
    return { kind: 'empty' };
  }
}

function addTo(callers: Map<string, ThrottledCaller>, report: CallerReport): void {
  const { tracker } = report;
  for (const { key, probability, throttledPerSecond } of report.callers) {
    const id = JSON.stringify([tracker, key]);
    const known = callers.get(id);
    callers.set(id, {
      tracker,
      key,
      probability: Math.max(probability, known?.probability ?? 0),
      throttledPerSecond: throttledPerSecond + (known?.throttledPerSecond ?? 0),
      instances: 1 + (known?.instances ?? 0),
    });
  }
}
