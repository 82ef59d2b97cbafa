// The messages of the state service in the plainest form, with a tuple for each element. What our codec
// reads and what Protobuf-ES reads are both brought into it, and must then be equal.
import type { FairSyncRequest, FairSyncResponse } from '@syncline/protocol/fair-state';
import type { CellDeltas, Cells } from '../cells.js';
import type { SyncRequest, SyncResponse } from '../wire/sync-messages.js';

type Element = readonly number[];
type FairBucket = FairSyncResponse['buckets'][number];
type FairHello = Extract<FairSyncRequest['request'], { case: 'hello' }>['value'];

export function plainRequest(request: SyncRequest): unknown {
  switch (request.kind) {
    case 'delta-update':
      return { ...request, deltas: plainDeltas(request.deltas) };
    case 'view-upload':
      return { ...request, cells: plainCells(request.cells) };
    default:
      return request;
  }
}

export function plainResponse(response: SyncResponse): unknown {
  return { ...response, cells: plainCells(response.cells) };
}

/** Undefined for a request without a member. */
export function plainFairRequest({ request }: FairSyncRequest): unknown {
  switch (request.case) {
    case 'deltaUpdate': {
      const { seed, seq, epoch } = request.value;
      const deltas = request.value.deltas.map((delta): Element => {
        const { rowId, colId, deltaProb, lastUpdateTimeMs, lo = 0, hi = 1 } = delta;
        return [safe(rowId), safe(colId), deltaProb, safe(lastUpdateTimeMs), lo, hi];
      });
      return { kind: 'delta-update', seed, deltas, seq: safe(seq), epoch: safe(epoch) };
    }
    case 'stateRequest':
      return { kind: 'state-request', seed: request.value.seed };
    case 'hello':
      return plainFairHello(request.value);
    case 'viewUpload': {
      const { seed, buckets } = request.value;
      return { kind: 'view-upload', seed, cells: buckets.map(plainBucket) };
    }
    default:
      return undefined;
  }
}

export function plainFairResponse(response: FairSyncResponse): unknown {
  const { seed, buckets, epoch, ackedSeq, isSnapshot, activeInstances, welcome, snapshotEnd } =
    response;
  return {
    seed,
    cells: buckets.map(plainBucket),
    epoch: safe(epoch),
    ackedSeq: safe(ackedSeq),
    isSnapshot,
    activeInstances,
    welcome: welcome && {
      epoch: safe(welcome.epoch),
      activeInstances: welcome.activeInstances,
      serverTimeMs: safe(welcome.serverTimeMs),
      wantView: welcome.wantView,
      maxElements: welcome.maxElements,
    },
    snapshotEnd,
  };
}

function plainFairHello({ tracker, clientId, config, lastEpoch }: FairHello): unknown {
  return {
    kind: 'hello',
    tracker,
    clientId,
    config: {
      levels: config?.levels ?? 0,
      columns: config?.columns ?? 0,
      policy: config?.policy ?? 0,
      ratePerSecond: config?.ratePerSecond ?? 0,
      windowMs: safe(config?.windowMs ?? 0n),
      hash: config?.hash ?? 0,
      keyCheck: config?.keyCheck ?? 0n,
      increment: config?.increment ?? 0,
      decrement: config?.decrement ?? 0,
    },
    lastEpoch: safe(lastEpoch),
  };
}

function plainDeltas({ count, rows, columns, amounts, timesMs, lows, highs }: CellDeltas) {
  return elements(count, [rows, columns, amounts, timesMs, lows, highs]);
}

function plainCells({ count, rows, columns, probabilities, timesMs }: Cells) {
  return elements(count, [rows, columns, probabilities, timesMs]);
}

function elements(count: number, columns: readonly Float64Array[]): readonly Element[] {
  return Array.from({ length: count }, (_, index) =>
    columns.map((column) => column[index] ?? Number.NaN),
  );
}

function plainBucket({ rowId, colId, prob, lastUpdateTimeMs }: FairBucket): Element {
  return [safe(rowId), safe(colId), prob, safe(lastUpdateTimeMs)];
}

function safe(value: bigint): number {
  return value <= Number.MAX_SAFE_INTEGER ? Number(value) : Number.POSITIVE_INFINITY;
}
