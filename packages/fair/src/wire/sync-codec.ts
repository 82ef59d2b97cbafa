// The messages of fair.state.v1 between values and bytes, written by hand: a busy service moves millions
// of deltas a second, and an object for each of them would be most of its work.
//
// F3  On valid bytes it gives what Protobuf-ES gives, and it refuses what that refuses. It also refuses a
//     field whose wire type is not that of the contract, groups, a request without a member, and one with
//     more elements than asked for. Absent bounds of a delta are 0 and 1. Floats that are not finite and
//     numbers that are too high are passed on; input-checks.ts refuses them.
//
// One writer serves all: encoding never waits, and every message is copied out.
import { SynclineError } from '@syncline/kernel';
import { WireReader, WireWriter } from '@syncline/kernel/wire';
import { type CellColumns, type Cells, type DeltaColumns, NO_CELLS } from '../cells.js';
import {
  ElementCount,
  noDeltas,
  readBucket,
  readDelta,
  writeBuckets,
  writeDeltas,
} from './cell-lists.js';
import { noHello, readHello, readWelcome, writeHello, writeWelcome } from './greeting-codec.js';
import type { ResponseFields, SyncRequest, SyncResponse, Welcome } from './sync-messages.js';

type RequestOf<Kind> = Extract<SyncRequest, { kind: Kind }>;

const MEMBER_FIELDS = {
  'delta-update': 1,
  'state-request': 2,
  hello: 3,
  'view-upload': 4,
} as const satisfies Record<SyncRequest['kind'], number>;

const welcomeField = 8;

const writer = new WireWriter();

export interface DecodeOptions {
  /** Deltas or buckets; one more is `invalid-argument`. */
  readonly elementsMax: number;
}

export function decodeSyncRequest(bytes: Uint8Array, { elementsMax }: DecodeOptions): SyncRequest {
  const reader = new WireReader('SyncRequest', bytes);
  const elements = new ElementCount(elementsMax);
  let request: SyncRequest | undefined;
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    switch (field) {
      case 1:
        request = readDeltaUpdate(
          reader,
          request?.kind === 'delta-update' ? request : undefined,
          elements,
        );
        break;
      case 2:
        request = readStateRequest(reader, request?.kind === 'state-request' ? request : undefined);
        break;
      case 3:
        request = {
          kind: 'hello',
          ...readHello(reader, request?.kind === 'hello' ? request : noHello),
        };
        break;
      case 4:
        request = readViewUpload(
          reader,
          request?.kind === 'view-upload' ? request : undefined,
          elements,
        );
        break;
      default:
        reader.skip();
    }
  }
  if (request !== undefined) return request;
  throw new SynclineError(
    'invalid-argument',
    'SyncRequest.request is empty; set delta_update, state_request, hello or view_upload',
    { details: { field: 'request', reason: 'missing' } },
  );
}

export function encodeSyncRequest(request: SyncRequest): Uint8Array {
  writer.clear();
  const start = writer.begin(MEMBER_FIELDS[request.kind]);
  switch (request.kind) {
    case 'delta-update':
      writer.bigint(1, request.seed);
      writeDeltas(writer, 2, request.deltas);
      writer.uint(3, request.seq);
      writer.uint(4, request.epoch);
      break;
    case 'state-request':
      writer.bigint(1, request.seed);
      break;
    case 'hello':
      writeHello(writer, request);
      break;
    case 'view-upload':
      writer.bigint(1, request.seed);
      writeBuckets(writer, request.cells, 0, request.cells.count);
      break;
    default:
      return request satisfies never;
  }
  writer.end(start);
  return writer.copy();
}

export function decodeSyncResponse(bytes: Uint8Array): SyncResponse {
  const reader = new WireReader('SyncResponse', bytes);
  const elements = new ElementCount(Number.POSITIVE_INFINITY);
  let cells = NO_CELLS;
  let welcome: Welcome | undefined;
  const numbers = { seed: 0n, epoch: 0, ackedSeq: 0, activeInstances: 0 };
  const flags = { isSnapshot: false, snapshotEnd: false };
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    switch (field) {
      case 1:
        numbers.seed = reader.bigint();
        break;
      case 2:
        cells = readBucket(reader, cells, elements);
        break;
      case 3:
        numbers.epoch = reader.uintOrInfinity();
        break;
      case 4:
        numbers.ackedSeq = reader.uintOrInfinity();
        break;
      case 5:
        flags.isSnapshot = reader.bool();
        break;
      case 6:
        numbers.activeInstances = reader.word();
        break;
      case welcomeField:
        welcome = readWelcome(reader, welcome);
        break;
      case 9:
        flags.snapshotEnd = reader.bool();
        break;
      default:
        reader.skip();
    }
  }
  return { ...numbers, ...flags, cells, welcome };
}

export function encodeSyncResponse(response: SyncResponse): Uint8Array {
  startBuckets(response.seed);
  writeBuckets(writer, response.cells, 0, response.cells.count);
  writeFields(response);
  return writer.copy();
}

/** The part of a round that is the same for all: a response with the cells from `from` up to `to`. */
export function encodeBuckets(seed: bigint, cells: Cells, from: number, to: number): Uint8Array {
  startBuckets(seed);
  writeBuckets(writer, cells, from, to);
  return writer.copy();
}

/** The same response with a stream's own fields behind it, which protobuf reads as one message. */
export function withResponseFields(shared: Uint8Array, fields: ResponseFields): Uint8Array {
  writer.clear();
  writeFields(fields);
  const own = writer.copy();
  const whole = new Uint8Array(shared.length + own.length);
  whole.set(shared);
  whole.set(own, shared.length);
  return whole;
}

function startBuckets(seed: bigint): void {
  writer.clear();
  writer.bigint(1, seed);
}

function writeFields(fields: ResponseFields): void {
  writer.uint(3, fields.epoch);
  writer.uint(4, fields.ackedSeq);
  writer.bool(5, fields.isSnapshot);
  writer.uint(6, fields.activeInstances);
  if (fields.welcome !== undefined) writeWelcome(writer, welcomeField, fields.welcome);
  writer.bool(9, fields.snapshotEnd);
}

function readDeltaUpdate(
  reader: WireReader,
  before: RequestOf<'delta-update'> | undefined,
  elements: ElementCount,
): RequestOf<'delta-update'> {
  let { seed, seq, epoch } = before ?? { seed: 0n, seq: 0, epoch: 0 };
  let deltas: DeltaColumns = before?.deltas ?? noDeltas;
  const outerEnd = reader.enter();
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    switch (field) {
      case 1:
        seed = reader.bigint();
        break;
      case 2:
        deltas = readDelta(reader, deltas, elements);
        break;
      case 3:
        seq = reader.uintOrInfinity();
        break;
      case 4:
        epoch = reader.uintOrInfinity();
        break;
      default:
        reader.skip();
    }
  }
  reader.leave(outerEnd);
  return { kind: 'delta-update', seed, deltas, seq, epoch };
}

function readStateRequest(
  reader: WireReader,
  before: RequestOf<'state-request'> | undefined,
): RequestOf<'state-request'> {
  let seed = before?.seed ?? 0n;
  const outerEnd = reader.enter();
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 1) seed = reader.bigint();
    else reader.skip();
  }
  reader.leave(outerEnd);
  return { kind: 'state-request', seed };
}

function readViewUpload(
  reader: WireReader,
  before: RequestOf<'view-upload'> | undefined,
  elements: ElementCount,
): RequestOf<'view-upload'> {
  let seed = before?.seed ?? 0n;
  let cells: CellColumns = before?.cells ?? NO_CELLS;
  const outerEnd = reader.enter();
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    switch (field) {
      case 1:
        seed = reader.bigint();
        break;
      case 2:
        cells = readBucket(reader, cells, elements);
        break;
      default:
        reader.skip();
    }
  }
  reader.leave(outerEnd);
  return { kind: 'view-upload', seed, cells };
}
