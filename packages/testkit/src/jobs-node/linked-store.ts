// The client's side of its link: a job store whose calls may be lost, duplicated or delayed, and whose subscriptions
// break. It hides none of that: callers get `unavailable` and must handle it.
import type {
  CallOptions,
  Cursor,
  JobCallOptions,
  JobEvent,
  JobStore,
  JobSubscription,
  LeaseRequest,
  StateWrite,
  StoreSubscribeOptions,
} from '@syncline/jobs';
import { abortedError, type Clock, SynclineError } from '@syncline/kernel';
import {
  type CallName,
  fromSentError,
  type ReplyMessage,
  type Request,
  type StreamBatch,
} from './link-messages.js';

export interface LinkedStoreDeps {
  readonly client: string;
  readonly clock: Clock;
  readonly capabilities: JobStore['capabilities'];
  /** Never fails, and does not wait for a reply. Returns the number of the request. */
  readonly send: (request: Request) => number;
}

/** A subscription that gets no reply for this long, twice in a row, has broken. */
const BATCH_TIMEOUT_MS = 800;

export class LinkedStore implements JobStore {
  readonly #deps: LinkedStoreDeps;
  readonly #timeoutMs: number;
  readonly #waiting = new Map<number, (reply: ReplyMessage['reply']) => void>();

  constructor(deps: LinkedStoreDeps, timeoutMs: number) {
    this.#deps = deps;
    this.#timeoutMs = timeoutMs;
  }

  get capabilities() {
    return this.#deps.capabilities;
  }

  readonly createJob: JobStore['createJob'] = (spec, call) => this.#call('createJob', [spec], call);
  readonly getJob: JobStore['getJob'] = (jobId, call) => this.#call('getJob', [jobId], call);
  readonly listJobs: JobStore['listJobs'] = (query, call) => this.#call('listJobs', [query], call);
  readonly updateJob: JobStore['updateJob'] = (jobId, patch, call) =>
    this.#call('updateJob', [jobId, patch, meantBy(call)], call);
  readonly markJobDeleted: JobStore['markJobDeleted'] = (jobId, call) =>
    this.#call('markJobDeleted', [jobId, meantBy(call)], call);
  readonly deleteJob: JobStore['deleteJob'] = (jobId, call) =>
    this.#call('deleteJob', [jobId, meantBy(call)], call);
  readonly listStates: JobStore['listStates'] = (jobId, scope, page, call) =>
    this.#call('listStates', [jobId, scope, page], call);
  readonly getState: JobStore['getState'] = (jobId, taskId, tag, call) =>
    this.#call('getState', [jobId, taskId, tag], call);
  readonly aggregate: JobStore['aggregate'] = (jobId, scope, call) =>
    this.#call('aggregate', [jobId, scope], call);
  readonly listLost: JobStore['listLost'] = (jobId, call) => this.#call('listLost', [jobId], call);
  readonly setState: JobStore['setState'] = (write: StateWrite, call) =>
    this.#call('setState', [write], call);

  /** A real holder name would make traces differ between machines. */
  readonly lease: JobStore['lease'] = (request: LeaseRequest, call) =>
    this.#call('lease', [{ ...request, holder: this.#deps.client }], call);

  received({ id, reply }: ReplyMessage): void {
    this.#waiting.get(id)?.(reply);
  }

  subscribe(jobId: string, { signal, ...options }: StoreSubscribeOptions): JobSubscription {
    let cursor: Cursor | undefined;
    const read = () => this.#stream({ kind: 'open', jobId, options }, signal);
    async function* batches(): AsyncGenerator<readonly JobEvent[]> {
      for await (const events of read()) {
        for (const event of events) if ('cursor' in event) cursor = event.cursor;
        yield events;
      }
    }
    return {
      batches,
      async *[Symbol.asyncIterator]() {
        for await (const events of batches()) yield* events;
      },
      get cursor() {
        return cursor;
      },
      [Symbol.asyncDispose]: async () => {},
    };
  }

  async close(): Promise<void> {}

  async [Symbol.asyncDispose](): Promise<void> {}

  async *#stream(
    open: Request,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<readonly JobEvent[]> {
    const call = signal ? { signal } : {};
    let stream: number | undefined;
    try {
      stream = (await this.#ask(open, BATCH_TIMEOUT_MS, call)) as number;
      for (let number = 1; ; ) {
        const batch = await this.#next({ kind: 'next', stream, number }, call);
        if (batch === 'end') return;
        if (batch === 'wait') continue;
        number += 1;
        yield batch;
      }
    } catch (thrown) {
      if (!signal?.aborted) throw thrown;
    } finally {
      if (stream !== undefined) this.#deps.send({ kind: 'cancel', stream });
    }
  }

  async #next(next: Request, call: CallOptions): Promise<StreamBatch> {
    try {
      return (await this.#ask(next, BATCH_TIMEOUT_MS, call)) as StreamBatch;
    } catch (thrown) {
      if (!isUnanswered(thrown)) throw thrown;
      return (await this.#ask(next, BATCH_TIMEOUT_MS, call)) as StreamBatch;
    }
  }

  #call<T>(name: CallName, args: readonly unknown[], call: CallOptions = {}): Promise<T> {
    return this.#ask({ kind: 'call', name, args }, this.#timeoutMs, call) as Promise<T>;
  }

  async #ask(request: Request, timeoutMs: number, { signal }: CallOptions): Promise<unknown> {
    if (signal?.aborted) throw abortedError('a call over the link', signal);
    const id = this.#deps.send(structuredClone(request));
    const reply = await new Promise<ReplyMessage['reply']>((resolve, reject) => {
      const settle = (end: () => void) => {
        timer?.cancel();
        signal?.removeEventListener('abort', onAbort);
        this.#waiting.delete(id);
        end();
      };
      const onAbort = () => {
        if (signal) settle(() => reject(abortedError('a call', signal)));
      };
      const giveUp = () =>
        settle(() => reject(new SynclineError('unavailable', 'no reply', { outcome: 'unknown' })));
      const timer =
        timeoutMs === Number.POSITIVE_INFINITY
          ? undefined
          : this.#deps.clock.setTimer(timeoutMs, giveUp);
      signal?.addEventListener('abort', onAbort);
      this.#waiting.set(id, (answer) => settle(() => resolve(answer)));
    });
    if ('error' in reply) throw fromSentError(reply.error);
    return reply.value;
  }
}

function isUnanswered(thrown: unknown): boolean {
  return thrown instanceof SynclineError && thrown.outcome === 'unknown';
}

/** The options of a call that are sent over the link. */
function meantBy({ incarnation }: JobCallOptions = {}): JobCallOptions {
  return incarnation === undefined ? {} : { incarnation };
}
