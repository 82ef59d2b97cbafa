// The HTTP API of the jobs: lists, one job with its progress, its states, its events, and its deletion; and writes,
// for callers that only have HTTP: a shell, a browser, a webhook.
//
//   GET    /api/jobs?prefix&worst&after&limit             GET /api/jobs/{id}/states?task&tag&afterRevision&limit
//   GET    /api/jobs/{id}?task&tag                        GET /api/jobs/{id}/events?task&tag&after&include
//   DELETE /api/jobs/{id}?mark
//   PUT    /api/jobs/{id}                                       creates the job, or finds it
//   POST   /api/jobs/{id}/tasks/{task}/claim|renew|release      the lease of a task
//   PUT    /api/jobs/{id}/tasks/{task}/tags/{tag}               a state
//
// Operators count as task 0, so a deletion applies. A write without an epoch first claims the task, without a ttl,
// and returns the epoch. A retry is safe if it carries the same `eventId`.
import { type JobStore, jobsLimits, type StateWrite, type TaskLease } from '@syncline/jobs';
import { checkStateWrite, localStore, progressWithPayloads } from '@syncline/jobs/grpc';
import { type Clock, type Random, SynclineError } from '@syncline/kernel';
import type { HttpReply, HttpRequest, HttpRoute, RouteDoc } from '../../http/http-route.js';
import { parseBody } from '../../http/json-body.js';
import { refuseUnknownParameters } from '../../http/query-parameters.js';
import { claimBody, jobDocs, leaseBody, specBody, writeBody } from './job-docs.js';
import { openJobEvents } from './job-events.js';
import { isMark, jobQueryOf, scopeOf, statePageOf } from './job-query.js';
import { lastRevision } from './last-revision.js';
import { reachedLimitOf } from './reached-limit.js';

export interface JobRoutesDeps {
  readonly store: JobStore;
  readonly clock: Clock;
  readonly random: Random;
  limitReached(limit: string): void;
}

const EVENT_ID_BYTES = 16;
/** How often a write without an epoch claims the task again if another caller has claimed it since. */
const CLAIMS_MAX = 5;

export function jobRoutes(deps: JobRoutesDeps): readonly HttpRoute[] {
  const { store, clock, limitReached } = deps;
  const route = (
    method: HttpRoute['method'],
    path: string,
    doc: RouteDoc,
    handle: (request: HttpRequest) => Promise<HttpReply>,
  ): HttpRoute => ({
    method,
    path,
    doc,
    async handle(request) {
      refuseUnknownParameters(request.query, Object.keys(doc.query ?? {}));
      try {
        return await handle(request);
      } catch (thrown) {
        const limit = reachedLimitOf(thrown);
        if (limit !== undefined) limitReached(limit);
        throw thrown;
      }
    },
  });
  const json =
    (answer: (request: HttpRequest) => Promise<unknown>) =>
    async (request: HttpRequest): Promise<HttpReply> => ({
      kind: 'json',
      body: await answer(request),
    });
  let lastTurn = Promise.resolve();
  const nextTurn = () => new Promise<void>((resolve) => void clock.defer(resolve));
  /** A page may have a megabyte. Each is encoded in its own turn of the event loop, so that others are served between. */
  const page = (answer: (request: HttpRequest) => Promise<unknown>) =>
    json(async (request) => {
      const body = await answer(request);
      lastTurn = lastTurn.then(nextTurn);
      await lastTurn;
      return body;
    });
  const task = '/:job/tasks/:task';
  return [
    route(
      'GET',
      '',
      jobDocs.list,
      page(({ query, signal }) => store.listJobs(jobQueryOf(query), { signal })),
    ),
    route(
      'GET',
      '/:job',
      jobDocs.show,
      json((request) => showJob(store, request)),
    ),
    route(
      'GET',
      '/:job/states',
      jobDocs.states,
      page((request) => listStates(store, request)),
    ),
    route('GET', '/:job/events', jobDocs.events, (request) => openJobEvents(store, request)),
    route(
      'DELETE',
      '/:job',
      jobDocs.remove,
      json((request) => removeJob(store, request)),
    ),
    route(
      'PUT',
      '/:job',
      jobDocs.create,
      json((request) => createJob(store, request)),
    ),
    route(
      'POST',
      `${task}/claim`,
      jobDocs.claim,
      json((request) => claimTask(store, request)),
    ),
    route(
      'POST',
      `${task}/renew`,
      jobDocs.renew,
      json((request) => lease(store, request, 'renew')),
    ),
    route(
      'POST',
      `${task}/release`,
      jobDocs.release,
      json((request) => lease(store, request, 'release')),
    ),
    route(
      'PUT',
      `${task}/tags/:tag`,
      jobDocs.write,
      json((request) => writeState(deps, request)),
    ),
  ];
}

async function showJob(store: JobStore, request: HttpRequest) {
  const { query, signal } = request;
  const found = await localStore(store).progress(jobIdOf(request), scopeOf(query), signal);
  return { ...found, progress: progressWithPayloads(found.progress) };
}

async function listStates(store: JobStore, request: HttpRequest) {
  const { query, signal } = request;
  return store.listStates(jobIdOf(request), scopeOf(query), statePageOf(query), { signal });
}

/** Not abandoned when the client disconnects: otherwise it would be unknown whether it was applied. */
async function removeJob(store: JobStore, request: HttpRequest) {
  const jobId = jobIdOf(request);
  if (isMark(request.query)) {
    const { revision } = await store.markJobDeleted(jobId);
    return { applied: true, revision };
  }
  const revision = await lastRevision(store, jobId);
  if (!(await store.deleteJob(jobId))) throw unknownJob(jobId, 'GET /api/jobs lists all jobs.');
  return { applied: true, revision };
}

async function createJob(store: JobStore, request: HttpRequest) {
  const { expectedTags, labels, numTasks } = parseBody(specBody, request.body);
  return store.createJob({
    jobId: jobIdOf(request),
    numTasks,
    ...(expectedTags && { expectedTags }),
    ...(labels && { labels }),
  });
}

async function claimTask(store: JobStore, request: HttpRequest) {
  const { incarnation: wanted, ttlMs = 0, holder = '' } = parseBody(claimBody, request.body);
  const incarnation = wanted ?? (await incarnationOf(store, request));
  return { lease: await claim(store, request, { incarnation, ttlMs, holder }), incarnation };
}

async function lease(store: JobStore, request: HttpRequest, action: 'renew' | 'release') {
  const { incarnation, epoch } = parseBody(leaseBody, request.body);
  const rest = { ttlMs: 0, holder: '' }; // those of the claim stay
  return {
    lease: await store.lease({ ...taskOf(request), incarnation, action, epoch, ...rest }),
    incarnation,
  };
}

async function writeState({ store, random }: JobRoutesDeps, request: HttpRequest) {
  const { epoch, incarnation: wanted, ...given } = parseBody(writeBody, request.body);
  const eventId = given.eventId ?? Buffer.from(random.bytes(EVENT_ID_BYTES)).toString('hex');
  const incarnation = wanted ?? (await incarnationOf(store, request));
  const key = { ...taskOf(request), tag: request.params['tag'] ?? '' };
  const fields = { message: '', schemaVersion: 1, ...given, ...key, eventId, incarnation };
  const write = { ...fields, epoch: epoch ?? 0 } as StateWrite;
  checkStateWrite(write); // before a claim fences someone
  for (let claims = 1; ; claims += 1) {
    const forEver = { incarnation, ttlMs: 0, holder: '' };
    const held = epoch ?? (await claim(store, request, forEver)).epoch;
    try {
      const result = await store.setState({ ...write, epoch: held });
      return { ...result, epoch: held, incarnation };
    } catch (thrown) {
      const isFenced = thrown instanceof SynclineError && thrown.code === 'fenced';
      if (!isFenced || epoch !== undefined || claims === CLAIMS_MAX) throw thrown;
    }
  }
}

function claim(
  store: JobStore,
  request: HttpRequest,
  options: Pick<TaskLease, 'ttlMs' | 'holder'> & { readonly incarnation: string },
): Promise<TaskLease> {
  return store.lease({ ...taskOf(request), ...options, action: 'claim', epoch: 0 });
}

async function incarnationOf(store: JobStore, request: HttpRequest): Promise<string> {
  const jobId = jobIdOf(request);
  const job = await store.getJob(jobId);
  if (job) return job.incarnation;
  throw unknownJob(jobId, 'PUT /api/jobs/{id} creates it.');
}

function unknownJob(jobId: string, advice: string): SynclineError {
  const shown = JSON.stringify(jobId.slice(0, jobsLimits.jobIdLengthMax.value));
  return new SynclineError('not-found', `no such job: ${shown}. ${advice}`);
}

function jobIdOf({ params }: HttpRequest): string {
  return params['job'] ?? '';
}

function taskOf(request: HttpRequest): { readonly jobId: string; readonly taskId: number } {
  const { taskId = 0 } = scopeOf(new URLSearchParams({ task: request.params['task'] ?? '' }));
  return { jobId: jobIdOf(request), taskId };
}
