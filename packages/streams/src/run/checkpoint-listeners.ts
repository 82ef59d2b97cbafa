// Readers of `run.checkpoints()`. One that is too slow misses the oldest; it never holds up the run.
import { BoundedQueue, SynclineError } from '@syncline/kernel';
import { streamsLimits } from '../limits.js';
import type { CheckpointInfo } from './checkpoint.js';

export class CheckpointListeners {
  readonly #queues = new Set<BoundedQueue<CheckpointInfo>>();

  publish(info: CheckpointInfo): void {
    for (const queue of this.#queues) {
      if (queue.offer(info) !== 'full') continue;
      queue.takeNow();
      queue.offer(info);
    }
  }

  /** The run is over; `thrown` is what it failed on. */
  end(thrown: unknown): void {
    for (const queue of this.#queues) {
      if (thrown === undefined) queue.close();
      else queue.fail(SynclineError.from(thrown));
    }
  }

  /** Everything published from now on, until the end. */
  subscribe(): AsyncGenerator<CheckpointInfo> {
    const { value: itemsMax } = streamsLimits.checkpointsBufferedMax;
    const queue = new BoundedQueue<CheckpointInfo>({ itemsMax });
    this.#queues.add(queue);
    return this.#read(queue);
  }

  async *#read(queue: BoundedQueue<CheckpointInfo>): AsyncGenerator<CheckpointInfo> {
    try {
      yield* queue;
    } finally {
      this.#queues.delete(queue);
    }
  }
}
