// Compares our codec with Protobuf-ES on any bytes. What ours reads, Protobuf-ES reads to the same values; what ours
// refuses, Protobuf-ES refuses too, unless it is one of the few things that are no part of a contract.
import { isDeepStrictEqual } from 'node:util';
import { SynclineError } from '@syncline/kernel';
import {
  type FairSyncRequest,
  type FairSyncResponse,
  parseFairSyncRequest,
  parseFairSyncResponse,
} from '@syncline/protocol/fair-state';
import type { CellDeltas, Cells } from '../cells.js';
import { decodeSyncRequest, decodeSyncResponse } from '../wire/sync-codec.js';
import type { SyncRequest, SyncResponse } from '../wire/sync-messages.js';

export interface CodecDifference {
  readonly message: 'request' | 'response';
  readonly bytes: Uint8Array;
  readonly ours: unknown;
  readonly theirs: unknown;
}

const noLimit = { elementsMax: Number.POSITIVE_INFINITY };

/** Of fields with another wire type, groups, numbers above their type, and members that end outside of the whole. */
const stricterReasons =
  /has wire type [0-7]|takes more than (32 bits|64 bits|10 bytes)|beyond the end|inside a field/;

/** Reads the bytes as a request and as a response; undefined when both times both agree. */
export function differenceOf(bytes: Uint8Array): CodecDifference | undefined {
  const request = {
    ours: ours(() => plainRequest(decodeSyncRequest(bytes, noLimit))),
    theirs: theirs(() => plainFairRequest(parseFairSyncRequest(bytes))),
  };
  if (isDifferent(request)) return { message: 'request', bytes, ...request };
  const response = {
    ours: ours(() => plainResponse(decodeSyncResponse(bytes))),
    theirs: theirs(() => plainFairResponse(parseFairSyncResponse(bytes))),
  };
  return isDifferent(response) ? { message: 'response', bytes, ...response } : undefined;
}

function isDifferent(read: Pick<CodecDifference, 'ours' | 'theirs'>): boolean {
  if (!(read.ours instanceof SynclineError)) return !isDeepStrictEqual(read.ours, read.theirs);
  return read.theirs !== undefined && !stricterReasons.test(read.ours.message);
}

/** The error when refused. Any other error is a bug and is rethrown. */
function ours(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    if (error instanceof SynclineError && error.code === 'invalid-argument') return error;
    throw error;
  }
}

function theirs(read: () => unknown): unknown {
  try {
    return read();
  } catch {
    return undefined;
  }
}

// The messages of the state service in the plainest form, with a tuple for each element. What our codec
// reads and what Protobuf-ES reads are both brought into it, and must then be equal.

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
