// The routes of the jobs as /api/openapi.json describes them.
import { z } from 'zod';
import type { HttpRoute, RouteDoc } from '../../http/http-route.js';

const counts = z.object({
  notStarted: z.number(),
  running: z.number(),
  finished: z.number(),
  warned: z.number(),
  failed: z.number(),
  total: z.number(),
});

const statusClass = z.enum(['failed', 'warned', 'not-started', 'running', 'finished']);

const state = z.looseObject({
  jobId: z.string(),
  taskId: z.number(),
  tag: z.string(),
  status: z.number(),
  statusClass,
  message: z.string(),
  timestampMs: z.number(),
  version: z.number(),
  revision: z.number(),
});

const job = z.object({
  jobId: z.string(),
  incarnation: z.string(),
  numTasks: z.number(),
  expectedTags: z.array(z.string()),
  labels: z.record(z.string(), z.string()),
  createdAtMs: z.number(),
  deletedAtMs: z.number().optional(),
  revision: z.number(),
  changedAtMs: z.number(),
});

const lease = z.looseObject({ taskId: z.number(), state: z.string(), holder: z.string() });

const tagProgress = z.object({
  tag: z.string(),
  cells: counts,
  percent: z.number(),
  lowest: state,
  worst: state,
});

const progress = z.object({
  revision: z.number(),
  cells: counts,
  percent: z.number(),
  lostTasks: z.number(),
  lowest: state,
  worst: state,
  tags: z.array(tagProgress),
});

const scope = { task: z.string().optional(), tag: z.string().optional() };
const jobEvent = z.looseObject({ kind: z.string() });

const DOCS: Readonly<Record<string, RouteDoc>> = {
  'GET ': {
    summary: 'Jobs in order of their names, page by page.',
    query: {
      prefix: z.string().optional(),
      worst: statusClass.optional(),
      after: z.string().optional(),
      limit: z.string().optional(),
    },
    reply: z.object({
      jobs: z.array(z.object({ job, cells: counts, percent: z.number(), lostTasks: z.number() })),
      damaged: z.array(z.string()).optional(),
      next: z.string().optional(),
    }),
  },
  'GET /:job': {
    summary: 'One job with its progress and the tasks whose leases are lost.',
    query: scope,
    reply: z.object({ job, progress, lost: z.array(lease) }),
  },
  'GET /:job/states': {
    summary: 'The latest state of each cell in scope, by revision, page by page.',
    query: { ...scope, afterRevision: z.string().optional(), limit: z.string().optional() },
    reply: z.object({
      states: z.array(state),
      revision: z.number(),
      incarnation: z.string(),
      more: z.boolean(),
    }),
  },
  'GET /:job/events': {
    summary: 'What is there, a marker, then what happens. Resume with Last-Event-ID or `after`.',
    query: { ...scope, after: z.string().optional(), include: z.string().optional() },
    events: {
      snapshot: jobEvent,
      synced: jobEvent,
      change: jobEvent,
      gap: jobEvent,
      stale: jobEvent,
      live: jobEvent,
      lease: jobEvent,
      job: jobEvent,
    },
  },
  'DELETE /:job': {
    summary: 'Removes a job; with `mark` it stays readable and takes no more writes.',
    query: { mark: z.enum(['', 'true']).optional() },
    reply: z.object({ applied: z.literal(true), revision: z.number() }),
  },
};

export function withDocs(routes: readonly HttpRoute[]): readonly HttpRoute[] {
  return routes.map((route) => {
    const doc = DOCS[`${route.method} ${route.path}`];
    return doc === undefined ? route : { ...route, doc };
  });
}
