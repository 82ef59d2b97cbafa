import { toBinary } from '@bufbuild/protobuf';
import { createSeededRandom } from '@syncline/kernel/testing';
import {
  FairSyncRequestSchema,
  FairSyncResponseSchema,
  parseFairSyncRequest,
  parseFairSyncResponse,
} from '@syncline/protocol/fair-state';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createCellDeltas, createCells } from '../cells.js';
import {
  differenceOf,
  plainFairRequest,
  plainFairResponse,
  plainRequest,
  plainResponse,
} from '../testing/codec-difference.js';
import { mutated, SOUP_SHAPES, wireSoup } from '../testing/wire-soup.js';
import {
  decodeSyncRequest,
  decodeSyncResponse,
  encodeBuckets,
  encodeSyncRequest,
  encodeSyncResponse,
  withResponseFields,
} from './sync-codec.js';
import type { SyncRequest, SyncResponse } from './sync-messages.js';

const noLimit = { elementsMax: Number.POSITIVE_INFINITY };

const u64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const u32 = fc.nat({ max: 2 ** 32 - 1 });
const i32 = fc.integer();
/** Every length of a varint is as likely as the others. */
const whole = fc.oneof(
  fc.nat({ max: 300 }),
  u32,
  fc.maxSafeNat(),
  fc.constantFrom(2 ** 28 - 1, 2 ** 28, 2 ** 32 - 1, 2 ** 32, 2 ** 35, 2 ** 53 - 1),
);
const element = fc.tuple(whole, whole, fc.double(), whole);
const bound = fc.option(fc.oneof(fc.constant(-0), fc.double()));
const deltaElement = fc.tuple(element, bound, bound);
const text = fc.string({ unit: 'grapheme', maxLength: 20 });

const deltas = fc.array(deltaElement, { maxLength: 40 }).map((list) => {
  const columns = createCellDeltas(list.length + 3); // columns may be longer than their count
  list.forEach(([[row, column, amount, timeMs], low, high], index) => {
    columns.rows[index] = row;
    columns.columns[index] = column;
    columns.amounts[index] = amount;
    columns.timesMs[index] = timeMs;
    columns.lows[index] = low ?? 0;
    columns.highs[index] = high ?? 1;
  });
  columns.count = list.length;
  return columns;
});

const cells = fc.array(element, { maxLength: 40 }).map((list) => {
  const columns = createCells(list.length + 3);
  list.forEach(([row, column, probability, timeMs], index) => {
    columns.rows[index] = row;
    columns.columns[index] = column;
    columns.probabilities[index] = probability;
    columns.timesMs[index] = timeMs;
  });
  columns.count = list.length;
  return columns;
});

const config = fc.record({
  levels: u32,
  columns: u32,
  policy: i32,
  ratePerSecond: fc.double(),
  windowMs: whole,
  hash: i32,
  keyCheck: u64,
  increment: fc.double(),
  decrement: fc.double(),
});

const requests: fc.Arbitrary<SyncRequest> = fc.oneof(
  fc.record({
    kind: fc.constant('delta-update' as const),
    seed: u64,
    deltas,
    seq: whole,
    epoch: whole,
  }),
  fc.record({ kind: fc.constant('state-request' as const), seed: u64 }),
  fc.record({
    kind: fc.constant('hello' as const),
    tracker: text,
    clientId: text,
    config,
    lastEpoch: whole,
  }),
  fc.record({ kind: fc.constant('view-upload' as const), seed: u64, cells }),
);

const welcome = fc.record({
  epoch: whole,
  activeInstances: u32,
  serverTimeMs: whole,
  wantView: fc.boolean(),
  maxElements: u32,
});

const responses: fc.Arbitrary<SyncResponse> = fc.record({
  seed: u64,
  cells,
  epoch: whole,
  ackedSeq: whole,
  isSnapshot: fc.boolean(),
  activeInstances: u32,
  welcome: fc.option(welcome, { nil: undefined }),
  snapshotEnd: fc.boolean(),
});

test('F3 a request is written byte by byte as Protobuf-ES writes it, and read back whole', () => {
  fc.assert(
    fc.property(requests, (request) => {
      const bytes = encodeSyncRequest(request);
      const theirs = parseFairSyncRequest(bytes);
      expect(plainFairRequest(theirs)).toEqual(plainRequest(request));
      expect(Buffer.from(toBinary(FairSyncRequestSchema, theirs))).toEqual(bytes);
      expect(plainRequest(decodeSyncRequest(bytes, noLimit))).toEqual(plainRequest(request));
    }),
    { numRuns: 200 },
  );
});

test('F3 a response is written byte by byte as Protobuf-ES writes it, and read back whole', () => {
  fc.assert(
    fc.property(responses, (response) => {
      const bytes = encodeSyncResponse(response);
      const theirs = parseFairSyncResponse(bytes);
      expect(plainFairResponse(theirs)).toEqual(plainResponse(response));
      expect(Buffer.from(toBinary(FairSyncResponseSchema, theirs))).toEqual(bytes);
      expect(plainResponse(decodeSyncResponse(bytes))).toEqual(plainResponse(response));
    }),
    { numRuns: 200 },
  );
});

test("a round followed by a stream's own fields equals the whole response", () => {
  fc.assert(
    fc.property(responses, (response) => {
      const { seed } = response;
      const shared = encodeBuckets(seed, response.cells, 0, response.cells.count);
      expect(Buffer.from(withResponseFields(shared, response))).toEqual(
        encodeSyncResponse(response),
      );
    }),
  );
});

test('the parts of a list, read as one message, are the list', () => {
  fc.assert(
    fc.property(responses, fc.nat(), ({ seed, cells: all }, draw) => {
      const middle = draw % (all.count + 1);
      const left = encodeBuckets(seed, all, 0, middle);
      const right = encodeBuckets(seed, all, middle, all.count);
      const list = encodeBuckets(seed, all, 0, all.count);
      const joined = decodeSyncResponse(Uint8Array.of(...left, ...right));
      expect(plainResponse(joined)).toEqual(plainResponse(decodeSyncResponse(list)));
    }),
  );
});

test('F3 cut off after any byte, a message is judged as Protobuf-ES judges it', () => {
  const either = fc.oneof(requests.map(encodeSyncRequest), responses.map(encodeSyncResponse));
  fc.assert(
    fc.property(either, (bytes) => {
      for (let length = 0; length <= Math.min(bytes.length, 300); length += 1) {
        expect(differenceOf(bytes.subarray(0, length))).toBeUndefined();
      }
    }),
    { numRuns: 20 },
  );
});

test('F3 bytes that no encoder would choose are judged and read as Protobuf-ES does', () => {
  const random = createSeededRandom('soup');
  const judgements = { read: 0, refused: 0 };
  for (let run = 0; run < 1_000; run += 1) {
    const shape = run % 2 === 0 ? SOUP_SHAPES.request : SOUP_SHAPES.response;
    const bytes = Uint8Array.from(wireSoup(random, shape));
    expect(differenceOf(bytes)).toBeUndefined();
    judgements[isRead(bytes) ? 'read' : 'refused'] += 1;
  }
  expect(judgements.read).toBeGreaterThan(250);
  expect(judgements.refused).toBeGreaterThan(150);
});

test('F3 damaged messages are judged and read as Protobuf-ES does', () => {
  const either = fc.oneof(requests.map(encodeSyncRequest), responses.map(encodeSyncResponse));
  fc.assert(
    fc.property(either, fc.maxSafeNat(), (bytes, seed) => {
      const damaged = mutated(createSeededRandom(seed), bytes);
      expect(differenceOf(damaged)).toBeUndefined();
    }),
    { numRuns: 500 }, // `sync-codec-fuzz.int.test.ts` tries many more
  );
});

function isRead(bytes: Uint8Array): boolean {
  try {
    decodeSyncRequest(bytes, noLimit);
    return true;
  } catch {
    return false;
  }
}
