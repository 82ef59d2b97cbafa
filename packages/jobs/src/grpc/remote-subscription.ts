// A subscription over a connection that may break: it then reports `stale`, reconnects at its cursor, and continues.
// After `attempts` failures in a row it throws `unavailable`, with the cursor.
//
// J9  The parts together equal the uninterrupted stream, or a `gap` marks what is missing.
import type { ClientReadableStream } from '@grpc/grpc-js';
import { backoffMs, SynclineError } from '@syncline/kernel';
import type { GrpcCallStatus } from '@syncline/protocol/grpc';
import { checkSubscribeOptions } from '../checks/input.js';
import { checkBatchMax, checkJobId } from '../checks/values.js';
import type { EngineDeps } from '../engine/store-adapter.js';
import {
  type Cursor,
  type JobEvent,
  type JobSubscription,
  parseCursor,
  type StoreSubscribeOptions,
} from '../job-store.js';
import { limitValues } from '../limits.js';
import { type ReconnectOptions, storeUnreachable } from '../reconnect.js';
import { jobCalls, type SubscribeRequest } from '../wire/calls.js';
import { FrameReader } from '../wire/frames.js';
import { type ChannelDeps, type ChannelPool, contractError, errorOfStatus } from './job-channel.js';

export interface RemoteDeps extends EngineDeps, ChannelDeps {
  readonly reconnect: Required<ReconnectOptions>;
}

export interface RemoteSubscriptionDeps extends RemoteDeps {
  readonly pool: ChannelPool;
  checkOpen(): void;
  onEnd(subscription: RemoteSubscription): void;
}

type Batch = readonly JobEvent[];

export class RemoteSubscription implements JobSubscription {
  readonly #deps: RemoteSubscriptionDeps;
  readonly #jobId: string;
  readonly #options: StoreSubscribeOptions;
  readonly #stop = new AbortController();
  #endStream = (): void => {};
  #isTaken = false;
  /** An event was received, so the job exists or did exist. */
  #isStarted = false;
  #cursor: Cursor | undefined;
  /** Where the next stream starts. Undefined for a replay. */
  #after: Cursor | undefined;
  /** The reader has received `synced` since the last replay began, and must not receive it again. */
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
    options.signal?.addEventListener('abort', this.close);
  }

  get cursor(): Cursor | undefined {
    return this.#cursor;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<JobEvent> {
    for await (const [event] of this.batches(1)) if (event) yield event;
  }

  async *batches(max = limitValues.frameEventsMax): AsyncGenerator<Batch> {
    for await (const events of this.#run(max)) {
      for (let at = 0; at < events.length && !this.#stop.signal.aborted; at += max) {
        const batch = events.length <= max ? events : events.slice(at, at + max);
        this.#cursor = batch.findLast((event) => 'cursor' in event)?.cursor ?? this.#cursor;
        yield batch;
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }

  readonly close = (): void => {
    this.#stop.abort();
    this.#endStream();
    this.#options.signal?.removeEventListener('abort', this.close);
    this.#deps.onEnd(this);
  };

  async *#run(batchMax: number): AsyncGenerator<Batch> {
    if (this.#isTaken) throw new SynclineError('conflict', 'a subscription can be read once');
    this.#isTaken = true;
    try {
      checkBatchMax(batchMax);
      this.#deps.checkOpen();
      const jobId = checkJobId(this.#jobId);
      if (this.#after !== undefined) parseCursor(this.#after);
      const { scope, include, overflow, buffer } = checkSubscribeOptions(this.#options);
      const request = {
        ...{ jobId, scope, overflow },
        includeLeases: include.includes('lease'),
        includeJob: include.includes('job'),
        bufferEvents: buffer.maxEvents,
        bufferBytes: buffer.maxBytes,
      };
      while (!this.#stop.signal.aborted) {
        const end = yield* this.#follow(request);
        if (this.#stop.signal.aborted || end === 'deleted') return;
        if (end.code === 'not-found' && this.#isStarted) {
          // Subscribers that were connected received the same event.
          const { revision } = this.#cursor ? parseCursor(this.#cursor) : { revision: 0 };
          yield [{ kind: 'gap', reason: 'deleted', fromRevision: revision, toRevision: revision }];
          return;
        }
        yield* this.#wait(end);
      }
    } finally {
      this.close();
    }
  }

  /** Reads one stream to its end. Beyond 16 buffered frames, HTTP/2 flow control makes the server wait. */
  async *#follow(request: SubscribeRequest): AsyncGenerator<Batch, SynclineError | 'deleted'> {
    const { pool, clock, target } = this.#deps;
    const { address } = target;
    const channel = pool.take();
    const frames: ClientReadableStream<Uint8Array> & AsyncIterable<Uint8Array> = channel.stream(
      jobCalls.subscribe,
      { ...request, after: this.#after },
    );
    let timedOut: SynclineError | undefined;
    const { remoteConnectTimeoutMs: timeoutMs } = limitValues;
    const connectTimer = clock.setTimer(timeoutMs, () => {
      const message = `no connection to the job service at ${address} within ${timeoutMs} ms. Check the address and the TLS settings on both sides.`;
      timedOut = new SynclineError('unavailable', message, { details: { address } });
      frames.cancel();
    });
    frames.on('metadata', () => connectTimer.cancel());
    frames.on('error', () => undefined); // thrown by the loop over the frames
    this.#endStream = () => {
      this.#endStream = () => {};
      connectTimer.cancel();
      frames.cancel();
      pool.leave(channel);
    };
    const reader = new FrameReader(this.#jobId);
    try {
      for await (const frame of frames) {
        this.#isStarted = true;
        this.#failures = 0;
        const events = this.#accept(reader.read(frame));
        if (events.length > 0) yield events;
        const last = events.at(-1);
        if (last?.kind === 'gap' && last.reason === 'deleted') return 'deleted';
      }
      return new SynclineError('unavailable', `${address} ended the stream`);
    } catch (thrown) {
      if (thrown instanceof Error && 'metadata' in thrown)
        return timedOut ?? errorOfStatus(thrown as Error & GrpcCallStatus, target);
      if (thrown instanceof SynclineError) return contractError(target, thrown);
      throw thrown;
    } finally {
      this.#endStream();
    }
  }

  /** Tracks the reader's position. Drops a `synced` that only confirms a resume. */
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
      // After a resume the missed changes follow, and then the server sends `live`.
      if (this.#lostAtMs === undefined || event.resumed) continue;
      this.#lostAtMs = undefined;
      accepted.push({ kind: 'live', revision: event.revision, cursor: event.cursor });
    }
    return accepted;
  }

  async *#wait(lost: SynclineError): AsyncGenerator<Batch> {
    // The server reports how far it has sent; events still in flight are lost with the stream.
    if (lost.code === 'overflow')
      throw lost.with({ details: { ...lost.details, cursor: this.#after } });
    if (!lost.retryable) throw lost;
    const { clock, random, metrics, reconnect } = this.#deps;
    if (this.#failures >= reconnect.attempts)
      throw storeUnreachable(reconnect, { cursor: this.#after, cause: lost });
    this.#lostAtMs ??= clock.nowMs();
    const delayMs = backoffMs(this.#failures, { ...reconnect, jitter: 'half' }, random);
    this.#failures += 1;
    yield [{ kind: 'stale', sinceMs: this.#lostAtMs, attempt: this.#failures }];
    metrics.add('syncline_jobs_listener_reconnects_total', 1);
    await clock.sleep(delayMs, this.#stop.signal).catch(() => {});
  }
}
