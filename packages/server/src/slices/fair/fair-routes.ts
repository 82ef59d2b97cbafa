// GET /api/fair: trackers, streams, instances, the hottest cells and the most throttled callers, for `syncline fair top`.
import type { StateService } from '@syncline/fair';
import { SynclineError } from '@syncline/kernel';
import { z } from 'zod';
import type { HttpRoute } from '../../http/http-route.js';
import { integerParameter } from '../../http/query-parameters.js';
import type { CallerReports } from './caller-reports.js';

const CELLS_BY_DEFAULT = 20;
const LIMIT = { min: 0, max: 1_000 };

const factsSchema = z.object({
  streams: z.number(),
  streamsMax: z.number(),
  trackers: z.number(),
  isReachable: z.boolean(),
  namespaces: z.array(
    z.object({
      tracker: z.string(),
      config: z.looseObject({ levels: z.number(), columns: z.number() }).optional(),
      epoch: z.number(),
      streams: z.number(),
      streamsBehind: z.number(),
      instances: z.number(),
      cells: z.number(),
      seeds: z.array(z.object({ seed: z.string(), cells: z.number(), idleMs: z.number() })),
      highest: z.array(
        z.object({
          seed: z.string(),
          row: z.number(),
          column: z.number(),
          probability: z.number(),
          ageMs: z.number().optional(),
        }),
      ),
    }),
  ),
  callers: z.array(
    z.object({
      tracker: z.string(),
      key: z.string(),
      probability: z.number(),
      throttledPerSecond: z.number(),
      instances: z.number(),
    }),
  ),
});

export function fairRoutes(service: StateService, callers: CallerReports): readonly HttpRoute[] {
  return [
    {
      method: 'GET',
      path: '',
      doc: {
        summary:
          'Trackers, streams, instances, the hottest cells, and the most throttled callers if instances report them.',
        query: { tracker: z.string().optional(), limit: z.string().optional() },
        reply: factsSchema,
      },
      handle: ({ query }) => ({ kind: 'json', body: factsFor(service, callers, query) }),
    },
  ];
}

function factsFor(service: StateService, reports: CallerReports, query: URLSearchParams): unknown {
  const facts = service.describe(integerParameter(query, 'limit', LIMIT) ?? CELLS_BY_DEFAULT);
  const tracker = query.get('tracker');
  const callers = reports.of(tracker ?? undefined);
  if (tracker === null) return { ...facts, callers };
  const namespaces = facts.namespaces.filter((one) => one.tracker === tracker);
  if (namespaces.length + callers.length > 0) return { ...facts, namespaces, callers };
  const known = facts.namespaces.map((one) => JSON.stringify(one.tracker)).join(', ');
  throw new SynclineError(
    'not-found',
    `unknown tracker ${JSON.stringify(tracker.slice(0, 100))}; known trackers: ${known}.`,
    { details: { field: 'tracker' } },
  );
}
