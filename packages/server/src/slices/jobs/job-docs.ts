// The routes of the jobs as /api/openapi.json describes them.
import { z } from 'zod';
import type { RouteDoc } from '../../http/http-route.js';

const counts = z.object({
  notStarted: z.number(),
  running: z.number(),
  finished: z.number(),
  warned: z.number(),
  failed: z.number(),
  total: z.number(),
});

const statusClass = z.enum(['failed', 'warned', 'not-started', 'running', 'finished']);

const stateSchema = z.looseObject({
  jobId: z.string(),
  taskId: z.number(),
  tag: z.string(),
  status: z.number(),
  statusClass,
  message: z.string(),
  progress: z.number().optional(),
  timestampMs: z.number(),
  version: z.number(),
  revision: z.number(),
});

const jobSchema = z.object({
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

const leaseSchema = z.looseObject({
  taskId: z.number(),
  epoch: z.number(),
  state: z.string(),
  holder: z.string(),
});

const tagProgress = z.object({
  tag: z.string(),
  cells: counts,
  percent: z.number(),
  lowest: stateSchema,
  worst: stateSchema,
});

const progress = z.object({
  revision: z.number(),
  cells: counts,
  percent: z.number(),
  lostTasks: z.number(),
  lowest: stateSchema,
  worst: stateSchema,
  tags: z.array(tagProgress),
});

const scope = { task: z.string().optional(), tag: z.string().optional() };
const jobEvent = z.looseObject({ kind: z.string() });

export const specBody = z.strictObject({
  numTasks: z.number(),
  expectedTags: z.array(z.string()).optional(),
  labels: z.record(z.string(), z.string()).optional(),
});

export const claimBody = z.strictObject({
  incarnation: z.string().optional(),
  ttlMs: z.number().optional(),
  holder: z.string().optional(),
});

export const leaseBody = z.strictObject({ incarnation: z.string(), epoch: z.number() });

export const writeBody = z.strictObject({
  status: z.number(),
  message: z.string().optional(),
  progress: z.number().optional(),
  payload: z.record(z.string(), z.unknown()).optional(),
  schemaVersion: z.number().optional(),
  eventId: z.string().optional(),
  ifVersion: z.number().optional(),
  durability: z.enum(['buffered', 'synced']).optional(),
  incarnation: z.string().optional(),
  epoch: z.number().optional(),
});

const leaseReply = z.object({ lease: leaseSchema, incarnation: z.string() });

export const jobDocs = {
  list: {
    summary: 'Jobs sorted by name, in pages.',
    query: {
      prefix: z.string().optional(),
      worst: statusClass.optional(),
      after: z.string().optional(),
      limit: z.string().optional(),
    },
    reply: z.object({
      jobs: z.array(
        z.object({ job: jobSchema, cells: counts, percent: z.number(), lostTasks: z.number() }),
      ),
      damaged: z.array(z.string()).optional(),
      next: z.string().optional(),
    }),
  },
  show: {
    summary: 'One job, with its progress and its lost tasks.',
    query: scope,
    reply: z.object({ job: jobSchema, progress, lost: z.array(leaseSchema) }),
  },
  states: {
    summary: 'The latest state of each cell in scope, in revision order, in pages.',
    query: { ...scope, afterRevision: z.string().optional(), limit: z.string().optional() },
    reply: z.object({
      states: z.array(stateSchema),
      revision: z.number(),
      incarnation: z.string(),
      more: z.boolean(),
    }),
  },
  events: {
    summary:
      'The existing states, a marker, then live changes. Resume with Last-Event-ID or `after`.',
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
  remove: {
    summary: 'Deletes a job; with `mark`, it stays readable but refuses writes.',
    query: { mark: z.enum(['', 'true']).optional() },
    reply: z.object({ applied: z.literal(true), revision: z.number() }),
  },
  create: {
    summary: 'Creates a job, or returns the existing one.',
    body: specBody,
    reply: z.object({ job: jobSchema, created: z.boolean() }),
  },
  claim: {
    summary:
      'Claims a task: raises its epoch, which fences the previous holder. With `ttlMs` 0, the lease never expires.',
    body: claimBody,
    reply: leaseReply,
  },
  renew: {
    summary: 'Renews a lease: its time to live starts over.',
    body: leaseBody,
    reply: leaseReply,
  },
  release: {
    summary: 'Ends a lease.',
    body: leaseBody,
    reply: leaseReply,
  },
  write: {
    summary:
      'Writes a state. Without `epoch`, the task is claimed first. With `ifVersion`, the write applies only to that version.',
    body: writeBody,
    reply: z.looseObject({
      applied: z.boolean(),
      epoch: z.number(),
      incarnation: z.string(),
      state: stateSchema.optional(),
      current: stateSchema.optional(),
    }),
  },
} satisfies Record<string, RouteDoc>;
