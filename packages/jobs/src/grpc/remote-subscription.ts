// A subscription over a connection that may break: it says `stale`, comes back at its cursor, and goes on as if
// nothing had happened, also in the middle of a replay.
//
//   opened ──▶ following ──▶ ended
//     ▲            │  lost
//     └── stale ◀──┘   after `attempts` failures in a row: `unavailable`, with the cursor
//
// J9  Cut anywhere and resumed, the parts equal the uncut stream, or a `gap` says where not.
import { type Clock, type Random, SynclineError } from '@syncline/kernel';
import type { GrpcTarget } from '@syncline/protocol';
import { checkBatchMax } from '../checks/numbers.js';
import { type CheckedSubscribeOptions, checkSubscribeOptions } from '../checks/subscribe-input.js';
import { checkJobId } from '../checks/text.js';
import { parseCursor } from '../cursor.js';
import type { Cursor, JobEvent, JobSubscription, StoreSubscribeOptions } from '../job-event.js';
import { jobsLimits } from '../limits.js';
import type { JobsMetrics } from '../metrics-list.js';
import { outOfReach, type ReconnectOptions, reconnectDelayMs } from '../reconnect.js';
import type { SubscribeRequest } from '../wire/calls.js';
import { FrameReader } from '../wire/frame-reader.js';
import type { ChannelPool } from './channel-pool.js';
import { FrameStream } from './frame-stream.js';
import { notTheContract } from './status-error.js';

export interface RemoteSubscriptionDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: JobsMetrics;
  readonly pool: ChannelPool;
  readonly target: GrpcTarget;
  readonly reconnect: Required<ReconnectOptions>;
  /** Throws if the store is closed. */
  checkOpen(): void;
  /** It takes nothing more. */
  onEnd(subscription: RemoteSubscription): void;
}

type Batch = readonly JobEvent[];

export class RemoteSubscription implements JobSubscription {
  readonly #deps: RemoteSubscriptionDeps;
  readonly #jobId: string;
  readonly #options: StoreSubscribeOptions;
  readonly #stop = new AbortController();
  #stream: FrameStream | undefined;
  #isTaken = false;
  /** Something of the job was seen: it is there, or was. */
  #isStarted = false;
  #cursor: Cursor | undefined;
  /** Where the next stream begins. Undefined: with a replay. */
  #after: Cursor | undefined;
  /** The reader has had `synced` since the last replay began: it must not come again. */
  #isSynced = false;
  #failures = 0;
  #lostAtMs: number | undefined;

  constructor(deps: RemoteSubscriptionDeps, jobId: string, options: StoreSubscribeOptions) {
    this.#deps = deps;
    this.#jobId = jobId;
    this.#options = options;
    this.#cursor = options.after;
    this.#after = options.after;
    if (options.signal?.aborted) this.#stop.abort();
    options.signal?.addEventListener('abort', this.#close);
  }

  get cursor(): Cursor | undefined {
    return this.#cursor;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<JobEvent> {
    for await (const events of this.#run()) {
      for (const event of events) {
        if (this.#stop.signal.aborted) return;
        if ('cursor' in event) this.#cursor = event.cursor;
        yield event;
      }
    }
  }

  async *batches(max = jobsLimits.frameEventsMax.value): AsyncGenerator<Batch> {
    for await (const events of this.#run(max)) {
      for (let at = 0; at < events.length && !this.#stop.signal.aborted; at += max) {
        const batch = events.length <= max ? events : events.slice(at, at + max);
        this.#cursor = lastCursor(batch) ?? this.#cursor;
        yield batch;
      }
    }
  }

  /** Ends the loop without an error. */
  close(): void {
    this.#close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#close();
  }

  readonly #close = (): void => {
    this.#stop.abort();
    this.#stream?.cancel();
    this.#options.signal?.removeEventListener('abort', this.#close);
    this.#deps.onEnd(this);
  };

  async *#run(batchMax = 1): AsyncGenerator<Batch> {
    if (this.#isTaken) throw new SynclineError('conflict', 'a subscription can be read once');
    this.#isTaken = true;
    try {
      checkBatchMax(batchMax);
      const request = this.#checked();
      while (!this.#stop.signal.aborted) {
        const end = yield* this.#follow(request);
        if (this.#stop.signal.aborted || end === 'deleted') return;
        if (end.code === 'not-found' && this.#isStarted) {
          yield [this.#deletedMeanwhile()];
          return;
        }
        yield* this.#wait(end);
      }
    } finally {
      this.#close();
    }
  }

  #checked(): CheckedSubscribeOptions {
    this.#deps.checkOpen();
    checkJobId(this.#jobId);
    if (this.#options.after !== undefined) parseCursor(this.#options.after);
    return checkSubscribeOptions(this.#options);
  }

  /** Hands out one stream to its end. */
  async *#follow(
    options: CheckedSubscribeOptions,
  ): AsyncGenerator<Batch, SynclineError | 'deleted'> {
    const { clock, pool, target } = this.#deps;
    const stream = new FrameStream(
      { clock, target, slot: pool.take() },
      requestOf(this.#jobId, options, this.#after),
    );
    this.#stream = stream;
    const reader = new FrameReader(this.#jobId);
    try {
      for (let frame = await stream.next(); frame !== undefined; frame = await stream.next()) {
        this.#isStarted = true;
        this.#failures = 0;
        const events = this.#accept(this.#read(reader, frame));
        if (events.length > 0) yield events;
        const last = events.at(-1);
        if (last?.kind === 'gap' && last.reason === 'deleted') return 'deleted';
      }
      return new SynclineError('unavailable', `${target.address} ended the stream`);
    } catch (thrown) {
      if (thrown instanceof SynclineError) return thrown;
      throw thrown;
    } finally {
      stream.cancel();
    }
  }

  #read(reader: FrameReader, frame: Uint8Array): readonly JobEvent[] {
    try {
      return reader.read(frame);
    } catch (thrown) {
      if (thrown instanceof SynclineError) throw notTheContract(this.#deps.target, thrown);
      throw thrown;
    }
  }

  /** Follows where the reader is; leaves out the `synced` that only says that a resume was good. */
  #accept(events: readonly JobEvent[]): readonly JobEvent[] {
    const accepted: JobEvent[] = [];
    for (const event of events) {
      if ('cursor' in event) this.#after = event.cursor;
      if (event.kind === 'gap' && event.reason === 'reset') {
        this.#isSynced = false;
        this.#after = undefined;
      }
      if (event.kind === 'synced' && event.resumed && this.#isSynced) continue;
      accepted.push(event);
      if (event.kind === 'live') this.#lostAtMs = undefined;
      if (event.kind !== 'synced') continue;
      this.#isSynced = true;
      // After a resume the changes are still to come, and then the server says `live`.
      if (this.#lostAtMs === undefined || event.resumed) continue;
      this.#lostAtMs = undefined;
      accepted.push({ kind: 'live', revision: event.revision, cursor: event.cursor });
    }
    return accepted;
  }

  async *#wait(lost: SynclineError): AsyncGenerator<Batch> {
    if (!lost.retryable) throw this.#withOwnCursor(lost);
    const { clock, random, metrics, reconnect } = this.#deps;
    if (this.#failures >= reconnect.attempts)
      throw outOfReach(reconnect, { cursor: this.#after, cause: lost });
    this.#lostAtMs ??= clock.nowMs();
    const delayMs = reconnectDelayMs(this.#failures, reconnect, random);
    this.#failures += 1;
    yield [{ kind: 'stale', sinceMs: this.#lostAtMs, attempt: this.#failures }];
    metrics.add('syncline_jobs_listener_reconnects_total', 1);
    try {
      await clock.sleep(delayMs, this.#stop.signal);
    } catch (thrown) {
      if (!this.#stop.signal.aborted) throw thrown;
    }
  }

  /** The server says how far it has sent; what was still on the way is lost with the stream. */
  #withOwnCursor(error: SynclineError): SynclineError {
    if (error.code !== 'overflow') return error;
    const { code, message, details } = error;
    return new SynclineError(code, message, {
      details: { ...details, cursor: this.#after },
      cause: error,
    });
  }

  /** It was there, and now nobody knows the job: others were told so while we were away. */
  #deletedMeanwhile(): JobEvent {
    const revision = this.#cursor === undefined ? 0 : parseCursor(this.#cursor).revision;
    return { kind: 'gap', reason: 'deleted', fromRevision: revision, toRevision: revision };
  }
}

function requestOf(
  jobId: string,
  { scope, include, overflow, buffer }: CheckedSubscribeOptions,
  after: Cursor | undefined,
): SubscribeRequest {
  return {
    jobId,
    scope,
    after: after ?? '',
    includeLeases: include.includes('lease'),
    includeJob: include.includes('job'),
    overflow,
    bufferEvents: buffer.maxEvents,
    bufferBytes: buffer.maxBytes,
  };
}

function lastCursor(events: readonly JobEvent[]): Cursor | undefined {
  for (let at = events.length - 1; at >= 0; at -= 1) {
    const event = events[at];
    if (event !== undefined && 'cursor' in event) return event.cursor;
  }
  return undefined;
}
