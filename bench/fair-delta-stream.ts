// A stream of the state service without a tracker behind it: it sends changes as a client does, one round in
// flight, and waits until they are acknowledged. Values that the service sends are decoded and dropped.
import { randomBytes } from 'node:crypto';
import type { CellDeltas, FairRemote, SyncRequest, SyncResponse } from '@syncline/fair';
import { benchDeps } from './fair-state-server.js';

type ClientStream = ReturnType<ReturnType<FairRemote['createTransport']>['open']>;

export const WINDOW_MS = 300_000;
/** The default shape of a tracker. */
export const LEVELS = 3;
export const COLUMNS = 1_000;
const CONFIG = {
  levels: LEVELS,
  columns: COLUMNS,
  policy: 1, // exponential
  ratePerSecond: 0.01,
  windowMs: WINDOW_MS,
  hash: 1, // keyed
  keyCheck: 1n,
  increment: 0.04,
  decrement: 0.00004,
} as const;

export class DeltaStream {
  readonly #stream: ClientStream;
  readonly #seed = currentSeed();
  readonly #onValues: (response: SyncResponse) => void;
  readonly #welcomed: Promise<void>;
  #epoch = 0;
  #seq = 0;
  #settle: { resolve(): void; reject(error: Error): void } | undefined;

  constructor(remote: FairRemote, onValues: (response: SyncResponse) => void = () => {}) {
    this.#onValues = onValues;
    this.#stream = remote.createTransport(benchDeps).open({
      onMessage: (response) => this.#receive(response),
      onDrain() {},
      onEnd: (error) => this.#settle?.reject(error ?? new Error('the stream ended')),
    });
    const clientId = randomBytes(8).toString('hex');
    const { tracker } = remote;
    this.#welcomed = this.#request({
      kind: 'hello',
      tracker,
      clientId,
      config: CONFIG,
      lastEpoch: 0,
    });
  }

  /** Resolves when the service has welcomed it. */
  get opened(): Promise<void> {
    return this.#welcomed;
  }

  /** Resolves when they are acknowledged. One call at a time. */
  send(deltas: CellDeltas): Promise<void> {
    this.#seq += 1;
    const { kind, seed, seq, epoch } = {
      kind: 'delta-update',
      seed: this.#seed,
      seq: this.#seq,
      epoch: this.#epoch,
    } as const;
    return this.#request({ kind, seed, deltas, seq, epoch });
  }

  close(): void {
    this.#settle = undefined;
    this.#stream.cancel();
  }

  #request(request: SyncRequest): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      this.#stream.send(request);
    });
  }

  #receive(response: SyncResponse): void {
    const { welcome, ackedSeq } = response;
    if (welcome !== undefined) {
      this.#epoch = welcome.epoch;
      this.#settle?.resolve();
      return;
    }
    this.#onValues(response);
    if (ackedSeq > 0 && ackedSeq === this.#seq) this.#settle?.resolve();
  }
}

/** The current window, as clients name it. */
export function currentSeed(): bigint {
  return BigInt(Math.floor(Date.now() / WINDOW_MS) * WINDOW_MS);
}
