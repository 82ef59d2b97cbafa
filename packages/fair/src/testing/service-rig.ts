// For tests: a state service with a manual clock, and clients that exchange messages with it. A client's sink
// is full when the test says so.
import { type SynclineError, silentLogger, silentMetrics } from '@syncline/kernel';
import { createSeededRandom } from '@syncline/kernel/testing';
import type { CellDeltas, Cells } from '../cells.js';
import { viewOf as cellsFrom, deltasOf as deltasFrom } from '../conformance/store-samples.js';
import { ManualClock } from '../evaluation/manual-clock.js';
import type { FairStore, MaybePromise } from '../state/fair-store.js';
import { createMemoryFairStore } from '../state/memory-fair-store.js';
import type { StateServiceDeps, StateServiceOptions } from '../state/state-options.js';
import { StateService } from '../state/state-service.js';
import type { StateStream, StreamSink } from '../state/stream-outbox.js';
import { decodeSyncResponse, encodeSyncRequest } from '../wire/sync-codec.js';
import type { Hello, SyncRequest, SyncResponse, WireTrackerConfig } from '../wire/sync-messages.js';

export const WINDOW_MS = 300_000;
/** The start of a window. */
export const SEED = 1_700_000_100_000n;

export const CONFIG: WireTrackerConfig = {
  levels: 3,
  columns: 50,
  policy: 1,
  ratePerSecond: 0.01,
  windowMs: WINDOW_MS,
  hash: 1,
  keyCheck: 7n,
  increment: 0.04,
  decrement: 0.00004,
};

/** Row, column, amount, and the bounds if there are any. */
export type DeltaRow = readonly [
  row: number,
  column: number,
  amount: number,
  low?: number,
  high?: number,
];

export function deltasOf(rows: readonly DeltaRow[], timeMs = 0): CellDeltas {
  return deltasFrom(
    ...rows.map(([row, column, amount, low = 0, high = 1]) => {
      return { row, column, amount, timeMs, low, high };
    }),
  );
}

export function viewOf(
  rows: readonly (readonly [row: number, column: number, p: number])[],
): Cells {
  return cellsFrom(...rows.map(([row, column, probability]) => ({ row, column, probability })));
}

/** `row/column` to probability. */
export function valuesOf({ cells }: SyncResponse): ReadonlyMap<string, number> {
  const values = new Map<string, number>();
  for (let index = 0; index < cells.count; index += 1)
    values.set(`${cells.rows[index]}/${cells.columns[index]}`, cells.probabilities[index] ?? 0);
  return values;
}

export class RigClient implements StreamSink {
  readonly #inbox: SyncResponse[] = [];
  readonly #stream: StateStream;
  readonly bytes: Uint8Array[] = [];
  error: SynclineError | undefined;
  isEnded = false;
  /** Sets what `write` returns. */
  hasRoom = true;
  epoch = 0;
  seq = 0;
  /** Of what was sent last; a store may answer later. */
  handled: MaybePromise<void> = undefined;

  constructor(service: StateService) {
    this.#stream = service.connect(this);
  }

  write(message: Uint8Array): boolean {
    if (this.isEnded) throw new Error('written to after the end');
    const response = decodeSyncResponse(message);
    if (response.welcome !== undefined) this.epoch = response.welcome.epoch;
    this.#inbox.push(response);
    this.bytes.push(message);
    return this.hasRoom;
  }

  end(error?: SynclineError): void {
    this.isEnded = true;
    this.error = error;
  }

  send(request: SyncRequest): void {
    this.sendBytes(encodeSyncRequest(request));
  }

  sendBytes(bytes: Uint8Array): void {
    this.handled = this.#stream.receive(bytes);
  }

  hello(tracker: string, clientId: string, more: Partial<Hello> = {}): void {
    this.send({ kind: 'hello', tracker, clientId, config: CONFIG, lastEpoch: 0, ...more });
  }

  /** With the next sequence number. */
  deltas(rows: readonly DeltaRow[], seed = SEED): void {
    this.seq += 1;
    this.resend(rows, this.seq, seed);
  }

  resend(rows: readonly DeltaRow[], seq: number, seed = SEED): void {
    const deltas = deltasOf(rows);
    this.send({ kind: 'delta-update', seed, deltas, seq, epoch: this.epoch });
  }

  requestState(seed = SEED): void {
    this.send({ kind: 'state-request', seed });
  }

  drained(): void {
    this.hasRoom = true;
    this.#stream.drained();
  }

  hangUp(): void {
    this.#stream.closed();
  }

  /** What came since the last call. */
  take(): readonly SyncResponse[] {
    return this.#inbox.splice(0);
  }
}

export interface RigOptions extends StateServiceOptions {
  store?(clock: ManualClock): FairStore;
  readonly metrics?: StateServiceDeps['metrics'];
  readonly logger?: StateServiceDeps['logger'];
  readonly wallMs?: number;
}

export function createServiceRig({ store, metrics, logger, wallMs, ...options }: RigOptions = {}) {
  const clock = new ManualClock(wallMs ?? Number(SEED) + 1_000);
  const deps: StateServiceDeps = {
    clock,
    random: createSeededRandom('service-rig'),
    logger: logger ?? silentLogger,
    metrics: metrics ?? silentMetrics,
    store: store?.(clock) ?? createMemoryFairStore({ clock }),
  };
  const service = new StateService(deps, options);
  return {
    clock,
    service,
    store: deps.store,
    connect: () => new RigClient(service),
    /** Runs the rounds that are due. */
    settle: () => clock.advanceTo(clock.monotonicMs()),
    pass: (ms: number) => clock.advanceTo(clock.monotonicMs() + ms),
  };
}
