// HTTP of the jobs: lists, one job with its progress, its states, its events, and the end of it.
//
//   GET    /api/jobs?prefix&worst&after&limit             GET /api/jobs/{id}/states?task&tag&afterRevision&limit
//   GET    /api/jobs/{id}?task&tag                        GET /api/jobs/{id}/events?task&tag&after&include
//   DELETE /api/jobs/{id}?mark
//
// Operators count as task 0, so a deletion applies. States are written over gRPC alone.
import type { JobStore } from '@syncline/jobs';
import { encodedCalls, progressWithPayloads } from '@syncline/jobs/grpc';
import { SynclineError } from '@syncline/kernel';
import type { HttpReply, HttpRequest, HttpRoute } from '../../http/http-route.js';
import { openJobEvents } from './job-events.js';
import { isMark, jobQueryOf, refuseOthers, scopeOf, statePageOf } from './job-query.js';
import { lastRevision } from './last-revision.js';
import { reachedLimitOf } from './reached-limit.js';

export interface JobRoutesDeps {
  readonly store: JobStore;
  limitReached(limit: string): void;
}

type Handler = (store: JobStore, request: HttpRequest) => Promise<HttpReply>;

export function jobRoutes({ store, limitReached }: JobRoutesDeps): readonly HttpRoute[] {
  const route = (
    method: HttpRoute['method'],
    path: string,
    names: readonly string[],
    handler: Handler,
  ): HttpRoute => ({
    method,
    path,
    async handle(request) {
      refuseOthers(request.query, names);
      try {
        return await handler(store, request);
      } catch (thrown) {
        const limit = reachedLimitOf(thrown);
        if (limit !== undefined) limitReached(limit);
        throw thrown;
      }
    },
  });
  return [
    route('GET', '', ['prefix', 'worst', 'after', 'limit'], listJobs),
    route('GET', '/:job', ['task', 'tag'], showJob),
    route('GET', '/:job/states', ['task', 'tag', 'afterRevision', 'limit'], listStates),
    route('GET', '/:job/events', ['task', 'tag', 'after', 'include'], openJobEvents),
    route('DELETE', '/:job', ['mark'], removeJob),
  ];
}

function jobIdOf({ params }: HttpRequest): string {
  return params['job'] ?? '';
}

async function listJobs(store: JobStore, { query, signal }: HttpRequest): Promise<HttpReply> {
  return { kind: 'json', body: await store.listJobs(jobQueryOf(query), { signal }) };
}

async function showJob(store: JobStore, request: HttpRequest): Promise<HttpReply> {
  const { signal } = request;
  const jobId = jobIdOf(request);
  const found = await encodedCalls(store).progress(jobId, scopeOf(request.query), signal);
  return { kind: 'json', body: { ...found, progress: progressWithPayloads(found.progress) } };
}

async function listStates(store: JobStore, request: HttpRequest): Promise<HttpReply> {
  const { query, signal } = request;
  const page = statePageOf(query);
  const body = await store.listStates(jobIdOf(request), scopeOf(query), page, { signal });
  return { kind: 'json', body };
}

/** Not given up when the client leaves: whether it was applied would be anyone's guess. */
async function removeJob(store: JobStore, request: HttpRequest): Promise<HttpReply> {
  const jobId = jobIdOf(request);
  if (isMark(request.query)) {
    const { revision } = await store.markJobDeleted(jobId);
    return { kind: 'json', body: { applied: true, revision } };
  }
  const revision = await lastRevision(store, jobId);
  if (!(await store.deleteJob(jobId))) throw unknownJob(jobId);
  return { kind: 'json', body: { applied: true, revision } };
}

function unknownJob(jobId: string): SynclineError {
  const shown = JSON.stringify(jobId.slice(0, 128));
  return new SynclineError('not-found', `there is no job ${shown}. GET /api/jobs lists all.`);
}
