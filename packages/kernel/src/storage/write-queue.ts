// The order of writes: one group at a time goes to the store, and what arrives in the meantime forms the next.
//
// LevelDB takes writes on several threads and would order them arbitrarily. So one write is in flight at a time, and
// later ones are joined: together they cost one sync, not one each. As inside LevelDB, a buffered write never waits
// for the sync of a later one.
//
// K14  Writes take effect in the order of their calls. When one fails, those that were queued after it fail too and
//      are not applied: their callers did not know about the failure. So the store always holds all writes up to some
//      point.
import { SynclineError } from '../error.js';
import type { Durability } from './storage.js';
import { StorageBatch } from './storage-batch.js';

/** Approximate memory of a queued operation, and of a queued write, in addition to their bytes. */
const OPERATION_BYTES = 16;
const WRITE_BYTES = 200;

/** `secured`: makes all earlier writes durable. Such a group contains no operations. */
export type GroupDurability = Durability | 'secured';

interface QueuedWrite {
  readonly batch: StorageBatch;
  readonly durability: GroupDurability;
  readonly resolve: () => void;
  readonly reject: (error: SynclineError) => void;
}

/** Writes that become visible together, all as durable as the first one requests. */
export interface WriteGroup {
  readonly batches: readonly StorageBatch[];
  readonly bytes: number;
  readonly durability: GroupDurability;
}

export interface WriteQueueDeps {
  /** Rejects with a SynclineError. A second call never comes before the first has settled. */
  commit(group: WriteGroup): Promise<void>;
}

export interface WriteQueueOptions {
  readonly groupBytesMax: number;
  readonly queueBytesMax: number;
}

export class WriteQueue {
  readonly #deps: WriteQueueDeps;
  readonly #options: WriteQueueOptions;
  #waiting: QueuedWrite[] = [];
  #waitingBytes = 0;
  #running: Promise<void> | undefined;

  constructor(deps: WriteQueueDeps, options: WriteQueueOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** True when the next write is passed to `commit` before `push` returns. */
  get isIdle(): boolean {
    return this.#running === undefined;
  }

  push(batch: StorageBatch, durability: Durability): Promise<void> {
    return this.#push(batch, durability);
  }

  /** Reaches `commit` after all writes that were pushed before, as a separate group. */
  pushSecure(): Promise<void> {
    return this.#push(new StorageBatch(), 'secured');
  }

  #push(batch: StorageBatch, durability: GroupDurability): Promise<void> {
    const { queueBytesMax } = this.#options;
    if (this.#waiting.length > 0 && this.#waitingBytes + memoryOf(batch) > queueBytesMax) {
      return Promise.reject(overloaded(queueBytesMax));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ batch, durability, resolve, reject });
      this.#waitingBytes += memoryOf(batch);
      this.#running ??= this.#run();
    });
  }

  /** Resolves when no write is queued or in flight. */
  async drained(): Promise<void> {
    while (this.#running) await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const writes = this.#takeGroup();
      try {
        await this.#deps.commit(groupOf(writes));
        for (const write of writes) write.resolve();
      } catch (thrown) {
        const error = SynclineError.from(thrown, 'storage-failed');
        for (const write of writes) write.reject(error);
        for (const write of this.#takeAll()) write.reject(failedBehind(error));
      }
    }
    this.#running = undefined;
  }

  #takeGroup(): readonly QueuedWrite[] {
    const first = this.#waiting[0]?.durability ?? 'buffered';
    let bytes = 0;
    let count = 0;
    for (const { batch, durability } of this.#waiting) {
      bytes += batch.bytes;
      const fits = bytes <= this.#options.groupBytesMax && canJoin(first, durability);
      if (count > 0 && !fits) break;
      count += 1;
    }
    const writes = this.#waiting.slice(0, count);
    this.#waiting = this.#waiting.slice(count);
    for (const { batch } of writes) this.#waitingBytes -= memoryOf(batch);
    return writes;
  }

  #takeAll(): readonly QueuedWrite[] {
    const writes = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    return writes;
  }
}

function canJoin(first: GroupDurability, next: GroupDurability): boolean {
  return next === first || (first === 'synced' && next === 'buffered');
}

function memoryOf(batch: StorageBatch): number {
  return batch.bytes + batch.length * OPERATION_BYTES + WRITE_BYTES;
}

function groupOf(writes: readonly QueuedWrite[]): WriteGroup {
  const batches = writes.map(({ batch }) => batch);
  const bytes = batches.reduce((sum, batch) => sum + batch.bytes, 0);
  return { batches, bytes, durability: writes[0]?.durability ?? 'buffered' };
}

function failedBehind(error: SynclineError): SynclineError {
  return new SynclineError(
    error.code,
    `not attempted, because an earlier write failed: ${error.message}`,
    {
      retryable: error.retryable,
      details: error.details,
      cause: error,
    },
  );
}

function overloaded(queueBytesMax: number): SynclineError {
  return new SynclineError(
    'overloaded',
    `more than ${queueBytesMax} bytes are waiting to be written. Wait for earlier writes to finish.`,
    { details: { limit: 'storageQueueBytesMax', value: queueBytesMax } },
  );
}
