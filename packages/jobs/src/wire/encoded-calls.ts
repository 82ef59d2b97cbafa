// The calls of a store whose states stay encoded: what a server needs. A store of the engine has them; for any other
// one states are encoded here.
import { noSuchJob } from '../core/refusals.js';
import { parseCursor } from '../cursor.js';
import { type EncodedCalls, EngineJobStore } from '../engine/engine-job-store.js';
import { type EncodedEvent, JobFeedChange } from '../engine/feed-event.js';
import { encodeChange, encodeState } from '../engine/stored-change.js';
import type { JobEvent, JobSubscription } from '../job-event.js';
import type { JobStore } from '../job-store.js';
import type { State } from '../state.js';
import { withPayloadJson } from './state-message.js';

type Signal = AbortSignal | undefined;

export function encodedCalls(store: JobStore): EncodedCalls {
  if (store instanceof EngineJobStore) return store.encoded;
  return {
    async setState(write) {
      const result = await store.setState(write);
      if (!result.applied)
        return { applied: false, duplicate: false, state: encoded(result.current) };
      return { applied: true, duplicate: result.duplicate, state: encoded(result.state) };
    },
    async listStates(jobId, scope, { signal, ...page }) {
      const found = await store.listStates(jobId, scope, page, callOf(signal));
      return { ...found, states: found.states.map(encoded) };
    },
    async progress(jobId, scope, signal) {
      const job = await store.getJob(jobId, callOf(signal));
      if (!job) throw noSuchJob(jobId);
      const progress = await store.aggregate(jobId, scope, callOf(signal));
      const lost = await store.listLost(jobId, callOf(signal));
      const plain = <P extends { readonly lowest: State; readonly worst: State }>(part: P) => ({
        ...part,
        lowest: withPayloadJson(part.lowest),
        worst: withPayloadJson(part.worst),
      });
      return { job, progress: { ...plain(progress), tags: progress.tags.map(plain) }, lost };
    },
    subscribe: (jobId, options) => encodedSubscription(store.subscribe(jobId, options), jobId),
  };
}

function callOf(signal: Signal) {
  return signal === undefined ? {} : { signal };
}

function encoded(state: State): Uint8Array {
  return encodeState(withPayloadJson(state));
}

function encodedSubscription(inner: JobSubscription, jobId: string): JobSubscription<EncodedEvent> {
  const encode = (event: JobEvent) => encodedEvent(event, jobId);
  return {
    get cursor() {
      return inner.cursor;
    },
    async *batches(max) {
      for await (const batch of inner.batches(max)) yield batch.map(encode);
    },
    async *[Symbol.asyncIterator]() {
      for await (const event of inner) yield encode(event);
    },
    [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
  };
}

export function encodedEvent(event: JobEvent, jobId: string): EncodedEvent {
  if (event.kind === 'gap' || event.kind === 'stale') return event;
  const { base, isReplaying } = parseCursor(event.cursor);
  if (event.kind === 'synced') {
    const { cursor: _, ...synced } = event;
    return { ...synced, base };
  }
  if (event.kind === 'live') return { kind: 'live', revision: event.revision, base };
  const change = new JobFeedChange(encodeChange(changeOf(event)), { jobId, base }, 0);
  return isReplaying ? change.replayEvent() : change.event;
}

function changeOf(event: Extract<JobEvent, { kind: 'snapshot' | 'change' | 'lease' | 'job' }>) {
  switch (event.kind) {
    case 'lease':
      return {
        kind: 'lease',
        revision: event.lease.revision,
        timestampMs: 0,
        lease: event.lease,
      } as const;
    case 'job':
      return { kind: 'job', revision: event.job.revision, timestampMs: 0, job: event.job } as const;
    default: {
      const { revision, timestampMs } = event.state;
      return { kind: 'state', revision, timestampMs, state: event.state } as const;
    }
  }
}
