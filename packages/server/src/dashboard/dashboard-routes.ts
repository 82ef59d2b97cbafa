// The routes of the dashboard: its files, one event stream per open page, and the description of the API.
//
//   GET /api/live?view=NAME&…    events: `part` (the full state of the view, in parts), then `delta`
//   GET /api/openapi.json        every route below /api
import { type Clock, SynclineError } from '@syncline/kernel';
import { z } from 'zod';
import type { HttpReply, HttpRequest, ServerSentEvent } from '../http/http-route.js';
import { refuseUnknownParameters } from '../http/query-parameters.js';
import type { ServerRoute } from '../http/route-table.js';
import type { LimitWatch } from '../limit-watch.js';
import type { PromMetrics } from '../metrics/prom-metrics.js';
import type { ServerStatus } from '../server-status.js';
import type { RunningSlice } from '../slice.js';
import { LiveHub } from './live-hub.js';
import type { LiveView } from './live-view.js';
import { describeApi } from './openapi.js';
import { overviewView } from './overview-view.js';
import { pageRoutes } from './page-files.js';
import { RateHistory } from './rate-history.js';

export interface DashboardDeps {
  readonly clock: Clock;
  readonly metrics: PromMetrics;
  readonly limits: LimitWatch;
  readonly draining: AbortSignal;
  status(): ServerStatus;
}

interface NamedSlice {
  readonly name: string;
  readonly running: RunningSlice;
}

/** `apiRoutes` are the other routes, which the description includes. */
export function dashboardRoutes(
  deps: DashboardDeps,
  slices: readonly NamedSlice[],
  apiRoutes: readonly ServerRoute[],
): readonly ServerRoute[] {
  const views = new Map<string, LiveView>();
  for (const view of [
    overviewView(deps.status),
    ...slices.flatMap(({ running }) => running.views ?? []),
  ]) {
    views.set(view.name, view);
  }
  const rates = new RateHistory(
    deps,
    Object.fromEntries(slices.map(({ name, running }) => [name, running.rates ?? []])),
  );
  const hub = new LiveHub({
    clock: deps.clock,
    limitReached: (limit) => deps.limits.reached('server', limit),
    pagesChanged: (count) => deps.metrics.set('syncline_server_live_pages', count),
  });
  const live: ServerRoute = {
    method: 'GET',
    path: '/api/live',
    access: 'slice',
    handle: (request) => openLive({ hub, views, rates }, request),
    doc: {
      summary: 'The data of one open dashboard page, as server-sent events.',
      query: {
        view: z.enum([...views.keys()] as [string, ...string[]]),
        ...Object.fromEntries(
          [...views.values()].flatMap(({ parameters }) =>
            parameters.map((name) => [name, z.string().optional()]),
          ),
        ),
      },
      events: {
        part: z.object({
          atMs: z.number(),
          index: z.number(),
          count: z.number(),
          body: z.unknown(),
        }),
        delta: z.object({ atMs: z.number(), deltas: z.array(z.unknown()) }),
      },
    },
  };
  let description: ReturnType<typeof describeApi> | undefined; // built on the first request: it is slow and rarely used
  const openapi: ServerRoute = {
    method: 'GET',
    path: '/api/openapi.json',
    access: 'token',
    handle: () => {
      description ??= describeApi([...apiRoutes, live, openapi], deps.status().version);
      return { kind: 'json', body: description };
    },
    doc: { summary: 'This description.', reply: z.looseObject({ openapi: z.string() }) },
  };
  return [...pageRoutes(), live, openapi];
}

interface LiveParts {
  readonly hub: LiveHub;
  readonly views: ReadonlyMap<string, LiveView>;
  readonly rates: RateHistory;
}

async function openLive(
  { hub, views, rates }: LiveParts,
  { query, signal }: HttpRequest,
): Promise<HttpReply> {
  const name = query.get('view') ?? '';
  const view = views.get(name);
  if (view === undefined) throw unknownView(name, [...views.keys()]);
  refuseUnknownParameters(query, ['view', ...view.parameters]);
  query.sort();
  const iterator = await hub.open(query.toString(), () => view.open(query, { rates }));
  // The end of the events is not enough: a HEAD request never reads them.
  const leave = (): void => void iterator.return?.();
  if (signal.aborted) leave();
  else signal.addEventListener('abort', leave, { once: true });
  const events: AsyncIterable<ServerSentEvent> = { [Symbol.asyncIterator]: () => iterator };
  return { kind: 'events', events };
}

function unknownView(name: string, known: readonly string[]): SynclineError {
  return new SynclineError(
    'invalid-argument',
    `unknown view ${JSON.stringify(name.slice(0, 100))}; expected one of: ${known.join(', ')}.`,
    { details: { field: 'view' } },
  );
}
