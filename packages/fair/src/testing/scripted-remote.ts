// A remote whose service is scripted by the test: it records what the client sends. The client reuses the
// columns of a request, so they are copied.
import type { SynclineError } from '@syncline/kernel';
import { type CellDeltas, type Cells, NO_CELLS } from '../cells.js';
import type {
  ClientStream,
  FairRemote,
  StateStreamListener,
  StateTransport,
} from '../client/fair-remote.js';
import type { SyncRequest, SyncResponse, Welcome } from '../wire/sync-messages.js';
import { viewOf } from './service-rig.js';

/** A cell in the notation of tests. */
export type CellValue = readonly [row: number, column: number, probability: number];

export class ScriptedStream implements ClientStream {
  readonly requests: SyncRequest[] = [];
  readonly #listener: StateStreamListener;
  isFull = false;
  isEnded = false;
  isCancelled = false;

  constructor(listener: StateStreamListener) {
    this.#listener = listener;
  }

  send(request: SyncRequest): boolean {
    this.requests.push(structuredClone(request));
    return !this.isFull;
  }

  end(): void {
    this.isEnded = true;
  }

  cancel(): void {
    this.isCancelled = true;
  }

  /** What was sent since the last call. */
  take(): SyncRequest[] {
    return this.requests.splice(0);
  }

  say(response: Partial<SyncResponse>): void {
    this.#listener.onMessage({ ...NOTHING, ...response });
  }

  welcome(welcome: Partial<Welcome> = {}): void {
    const { epoch = 1 } = welcome;
    this.say({ epoch, welcome: { ...WELCOME, ...welcome } });
  }

  /** A snapshot in one message. */
  snapshot(
    seed: number,
    values: readonly CellValue[] = [],
    fields: Partial<SyncResponse> = {},
  ): void {
    const cells = viewOf(values);
    this.say({
      seed: BigInt(seed),
      cells,
      epoch: 1,
      isSnapshot: true,
      snapshotEnd: true,
      ...fields,
    });
  }

  values(seed: number, values: readonly CellValue[], fields: Partial<SyncResponse> = {}): void {
    this.say({ seed: BigInt(seed), cells: viewOf(values), epoch: 1, ...fields });
  }

  drain(): void {
    this.isFull = false;
    this.#listener.onDrain();
  }

  fail(error?: SynclineError): void {
    this.#listener.onEnd(error);
  }
}

export class ScriptedRemote implements FairRemote, StateTransport {
  readonly tracker: string;
  readonly wire: 'named' | 'seed';
  readonly streams: ScriptedStream[] = [];
  isClosed = false;

  constructor(wire: 'named' | 'seed' = 'named') {
    this.wire = wire;
    this.tracker = wire === 'named' ? 'api' : '';
  }

  createTransport(): StateTransport {
    return this;
  }

  open(listener: StateStreamListener): ClientStream {
    const stream = new ScriptedStream(listener);
    this.streams.push(stream);
    return stream;
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }

  /** The newest. */
  get stream(): ScriptedStream {
    const stream = this.streams.at(-1);
    if (stream === undefined) throw new Error('the client has opened no stream yet');
    return stream;
  }
}

/** The updates among requests, each delta as `row:column amount [low, high]`. */
export function deltaUpdatesOf(requests: readonly SyncRequest[]) {
  return requests.flatMap((request) => {
    if (request.kind !== 'delta-update') return [];
    const { seq, epoch, deltas } = request;
    return [{ seq, epoch, deltas: listDeltas(deltas) }];
  });
}

function listDeltas(deltas: CellDeltas): readonly string[] {
  return Array.from({ length: deltas.count }, (_, index) => {
    const { rows, columns, amounts, lows, highs } = deltas;
    return `${rows[index]}:${columns[index]} ${amounts[index]} [${lows[index]}, ${highs[index]}]`;
  });
}

/** `row:column probability` of each cell. */
export function listCells({ count, rows, columns, probabilities }: Cells): readonly string[] {
  return Array.from(
    { length: count },
    (_, index) => `${rows[index]}:${columns[index]} ${probabilities[index]}`,
  );
}

const NOTHING: SyncResponse = {
  seed: 0n,
  cells: NO_CELLS,
  epoch: 0,
  ackedSeq: 0,
  isSnapshot: false,
  activeInstances: 0,
  welcome: undefined,
  snapshotEnd: false,
};

const WELCOME: Welcome = {
  epoch: 1,
  activeInstances: 1,
  serverTimeMs: 0,
  wantView: false,
  maxElements: 8_192,
};
