// Readers of `run.checkpoints()`. A slow reader misses the oldest checkpoints; it never delays the run.
import { BoundedQueue } from '@syncline/kernel';
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

  /** Called when the run has ended. */
  end(): void {
    for (const queue of this.#queues) queue.close();
  }

  /** All checkpoints published from now on, until the run ends. */
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
