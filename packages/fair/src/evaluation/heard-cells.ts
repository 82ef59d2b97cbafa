// What one instance was told about the shared cells, as one number: instances that were told the same last
// about every cell have the same one, whatever came in between and however it was cut into messages.
//
// The evaluation goes on when all numbers are equal. Counting messages would not do: a stream that is behind
// gets fewer.
import { fmix32 } from '@syncline/kernel';
import type { FairRemote, StateStreamListener } from '../client/fair-remote.js';
import type { SyncResponse } from '../wire/sync-messages.js';

export class HeardCells {
  /** By seed, then by row and column. A cell that was never heard of is 0. */
  readonly #bySeed = new Map<bigint, Map<number, number>>();
  readonly #float = new Float64Array(1);
  readonly #words = new Uint32Array(this.#float.buffer);
  #checksum = 0;

  get checksum(): number {
    return this.#checksum;
  }

  /** The same remote, listened to. */
  on(remote: FairRemote): FairRemote {
    const { tracker, wire } = remote;
    return {
      tracker,
      wire,
      createTransport: (deps) => {
        const transport = remote.createTransport(deps);
        return {
          open: (listener) => transport.open(this.#listening(listener)),
          close: () => transport.close(),
        };
      },
    };
  }

  #listening(listener: StateStreamListener): StateStreamListener {
    return {
      onMessage: (response) => {
        this.#hear(response);
        listener.onMessage(response);
      },
      onDrain: () => listener.onDrain(),
      onEnd: (error) => listener.onEnd(error),
    };
  }

  #hear({ seed, cells }: SyncResponse): void {
    const values = this.#bySeed.get(seed) ?? new Map<number, number>();
    this.#bySeed.set(seed, values);
    for (let index = 0; index < cells.count; index += 1) {
      const cell = (cells.rows[index] ?? 0) * 2 ** 20 + (cells.columns[index] ?? 0);
      const value = cells.probabilities[index] ?? 0;
      this.#checksum += this.#mixed(cell, value) - this.#mixed(cell, values.get(cell) ?? 0);
      this.#checksum |= 0;
      values.set(cell, value);
    }
  }

  #mixed(cell: number, value: number): number {
    this.#float[0] = value;
    const [low = 0, high = 0] = this.#words;
    return fmix32(fmix32(cell ^ low) ^ high);
  }
}
