// Group commit: what waits becomes one batch, one batch is in flight while the next gathers.
//
//   push ─▶ waiting ─ taken, checked ─▶ in flight ─ stored ─▶ memory changed ─▶ answered ─▶ published
//                                           └─ failed ─▶ answered with the error; nothing has happened
//
// Checks run when a batch is formed, against what is committed and what the batch already holds, so they need
// no locks. Every answer of a batch leaves after it, refusals too, since they may rest on what it holds.
// No promise is made for the steps in between: a write costs the one that its caller waits for.
//
// J3  What was acknowledged as synced was synced before.
// J4  Nobody sees a revision before it is as durable as its write asked.
import { type Clock, type Storage, SynclineError } from '@syncline/kernel';
import { jobsLimits } from '../limits.js';
import type { JobsMetrics } from '../metrics-list.js';
import { BatchMemory, StagedBatch } from './staged-batch.js';

/** Something that waits for its place in a batch. */
export interface CommitRequest {
  /** What it takes in the queue and adds to a batch, about. */
  readonly bytes: number;
  /** Checks and stages it. Must not throw. */
  prepare(batch: StagedBatch): void;
  /** The batch is stored. */
  done(): void;
  failed(error: SynclineError): void;
}

export interface CommitQueueDeps {
  readonly storage: Pick<Storage, 'write' | 'health' | 'whenReadable'>;
  readonly clock: Pick<Clock, 'defer'>;
  readonly metrics: JobsMetrics;
  /** Makes what was stored the content of memory. */
  apply(batch: StagedBatch): void;
  /** Comes after the answers. */
  publish(batch: StagedBatch): void;
}

export class CommitQueue {
  readonly #deps: CommitQueueDeps;
  readonly #memory = new BatchMemory();
  #waiting: CommitRequest[] = [];
  #waitingBytes = 0;
  /** Of those that wait for something else before they can take their place. */
  #arrivingCount = 0;
  #arrivingBytes = 0;
  /** Reads that are under way: each is called back after the batch in flight. */
  #between: (() => void)[] = [];
  #isWriting = false;
  #isPlanned = false;
  #onIdle: (() => void)[] = [];

  constructor(deps: CommitQueueDeps) {
    this.#deps = deps;
  }

  get length(): number {
    return this.#waiting.length;
  }

  get bytes(): number {
    return this.#waitingBytes;
  }

  /** Throws `overloaded` when the queue is full. */
  push(request: CommitRequest): void {
    this.#refuseIfFull(request.bytes);
    this.pushInternal(request);
  }

  /** For whoever must wait before it can push: it takes room from now on. Throws `overloaded` as well. */
  async arriveAfter<T>(bytes: number, wait: () => Promise<T>): Promise<T> {
    this.#refuseIfFull(bytes);
    this.#arrivingCount += 1;
    this.#arrivingBytes += bytes;
    try {
      return await wait();
    } finally {
      this.#arrivingCount -= 1;
      this.#arrivingBytes -= bytes;
    }
  }

  /** For the store's own work, of which there is little: it is never refused. */
  pushInternal(request: CommitRequest): void {
    this.#waiting.push(request);
    this.#waitingBytes += request.bytes;
    this.#report();
    this.#plan();
  }

  /** Calls back at a moment at which memory and storage hold the same: at once, or after the batch in flight. */
  whenLevel(callback: () => void): void {
    if (this.#isWriting) this.#between.push(callback);
    else callback();
  }

  /** Resolves when nothing waits and nothing is in flight. */
  idle(): Promise<void> {
    if (!this.#isWriting && this.#waiting.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }

  #refuseIfFull(bytes: number): void {
    const { writeQueueMax, writeQueueBytesMax } = jobsLimits;
    const count = this.#waiting.length + this.#arrivingCount;
    if (count >= writeQueueMax.value) throw overloaded('writeQueueMax');
    const bytesAfter = this.#waitingBytes + this.#arrivingBytes + bytes;
    if (bytesAfter > writeQueueBytesMax.value && count > 0) throw overloaded('writeQueueBytesMax');
  }

  /** At the end of this turn, so that what arrives together is written together. */
  #plan(): void {
    if (this.#isPlanned || this.#isWriting) return;
    this.#isPlanned = true;
    this.#deps.clock.defer(() => {
      this.#isPlanned = false;
      void this.#run(); // what the storage throws is told to the callers; what we throw ourselves ends the process
    });
  }

  /** One batch. The next is formed a turn later: requests that lie in sockets by now are in it, not behind it. */
  async #run(): Promise<void> {
    this.#isWriting = true;
    await this.#commitNext();
    this.#isWriting = false;
    const callbacks = this.#between;
    this.#between = [];
    for (const callback of callbacks) callback();
    if (this.#waiting.length > 0) {
      this.#plan();
      return;
    }
    const resolvers = this.#onIdle;
    this.#onIdle = [];
    for (const resolve of resolvers) resolve();
  }

  async #commitNext(): Promise<void> {
    const { storage, apply, publish, metrics } = this.#deps;
    let requests: readonly CommitRequest[] = [];
    const batch = new StagedBatch();
    try {
      if (storage.health().kind === 'reopening') await storage.whenReadable();
      requests = this.#take();
      for (const request of requests) request.prepare(batch);
      const rows = batch.encode(this.#memory);
      if (rows.length > 0) await storage.write(rows, { durability: batch.durability });
    } catch (thrown) {
      const error = SynclineError.from(thrown, 'storage-failed');
      const failed = requests.length > 0 ? requests : this.#take();
      batch.end();
      for (const request of failed) request.failed(error);
      return;
    }
    metrics.observe('syncline_jobs_commit_batch_writes', requests.length);
    apply(batch);
    for (const request of requests) request.done();
    publish(batch);
    batch.end();
  }

  #take(): readonly CommitRequest[] {
    const { commitWritesMax, commitBytesMax } = jobsLimits;
    let bytes = 0;
    let count = 0;
    for (const request of this.#waiting) {
      bytes += request.bytes;
      if (count > 0 && (count >= commitWritesMax.value || bytes > commitBytesMax.value)) break;
      count += 1;
    }
    const taken = this.#waiting.slice(0, count);
    this.#waiting = this.#waiting.slice(count);
    for (const request of taken) this.#waitingBytes -= request.bytes;
    this.#report();
    return taken;
  }

  #report(): void {
    this.#deps.metrics.set('syncline_jobs_write_queue', this.#waiting.length);
  }
}

function overloaded(limit: 'writeQueueMax' | 'writeQueueBytesMax'): SynclineError {
  const { value } = jobsLimits[limit];
  const what = limit === 'writeQueueMax' ? 'writes' : 'bytes of writes';
  return new SynclineError(
    'overloaded',
    `${value} ${what} wait for the disk. Wait for earlier writes before the next.`,
    { details: { limit } },
  );
}
