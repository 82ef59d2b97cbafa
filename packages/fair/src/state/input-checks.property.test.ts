import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { FairSyncRequestSchema } from '@syncline/protocol/fair-state';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  CONFIG,
  createServiceRig,
  type DeltaRow,
  deltasOf,
  type RigClient,
  SEED,
  viewOf,
} from '../testing/service-rig.js';
import { decodeSyncResponse, encodeSyncRequest } from '../wire/sync-codec.js';
import type { SyncRequest } from '../wire/sync-messages.js';

const columns = CONFIG.columns - 1;
const goodRow: fc.Arbitrary<DeltaRow> = fc.tuple(
  fc.nat(CONFIG.levels - 1),
  fc.nat(columns),
  fc.double({ min: -1, max: 1, noNaN: true }),
);
const notFinite = fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY);
const notProbability = fc.oneof(notFinite, fc.constantFrom(-1e-9, 1 + 1e-9, 1e300));

/** What is wrong with an element of a named delta update, and the field that the refusal must name. */
const badRows: fc.Arbitrary<readonly [row: DeltaRow, field: string]> = fc.oneof(
  notFinite.map((amount) => [[0, 0, amount], 'delta_prob'] as const),
  notProbability.map((low) => [[0, 0, 0.1, low, 1], 'lo'] as const),
  notProbability.map((high) => [[0, 0, 0.1, 0, high], 'hi'] as const),
  fc.constant([[0, 0, 0.1, 0.6, 0.4], 'lo'] as const),
  fc.integer({ min: CONFIG.levels }).map((row) => [[row, 0, 0.1], 'row_id'] as const),
  fc.integer({ min: CONFIG.columns }).map((column) => [[0, column, 0.1], 'col_id'] as const),
);

/** Everything that a client or the store can observe of the service. */
function stateOf({ service }: ReturnType<typeof createServiceRig>) {
  const { namespaces } = service.describe(100);
  return namespaces.map(({ cells, highest, seeds }) => ({ cells, highest, seeds }));
}

/** Since the last call; includes the number of instances. */
function cellsHeard(client: RigClient): number {
  return client.take().reduce((sum, { cells }) => sum + cells.count, 0);
}

function createRig() {
  const rig = createServiceRig();
  const [witness, victim] = [rig.connect(), rig.connect()];
  witness.hello('api', 'witness');
  victim.hello('api', 'victim');
  witness.deltas([
    [0, 0, 0.5],
    [1, 1, 0.25],
  ]);
  rig.pass(1_100);
  witness.take();
  return { ...rig, witness, victim };
}

/** 2^64 - 1: our own encoder refuses it, other clients can send it. */
const LARGE = 2n ** 64n - 1n;

test('a number above 2^53 - 1 is reported as such', () => {
  const bucket = { rowId: 0n, colId: 0n, deltaProb: 0.5, lastUpdateTimeMs: 0n, lo: 0, hi: 1 };
  const refusals = [
    { seq: 1n, deltas: [{ ...bucket, rowId: LARGE }] },
    { seq: 1n, deltas: [{ ...bucket, colId: LARGE }] },
    { seq: LARGE, deltas: [bucket] },
    { seq: 1n, deltas: [{ ...bucket, lastUpdateTimeMs: LARGE }] },
  ].map((update) => {
    const { victim } = createRig();
    const value = { seed: BigInt(SEED), epoch: BigInt(victim.epoch), ...update };
    return refusalOf(victim, { case: 'deltaUpdate', value });
  });
  const config = { ...CONFIG, policy: 1, hash: 1, windowMs: LARGE } as const;
  const value = { tracker: 'other', clientId: 'late', config, lastEpoch: 0n };
  expect(refusalOf(createRig().connect(), { case: 'hello', value })).toContain(
    'hello.config.window_ms is above 2^53 - 1; it must be',
  );
  expect(refusals).toEqual([
    expect.stringContaining('deltas[0].row_id is above 2^53 - 1; it must be'),
    expect.stringContaining('deltas[0].col_id is above 2^53 - 1; it must be'),
    expect.stringContaining('delta_update.seq is above 2^53 - 1; it must be'),
    expect.stringContaining('deltas[0].last_update_time_ms is above 2^53 - 1; it must be'),
  ]);
});

function refusalOf(
  client: RigClient,
  request: NonNullable<MessageInitShape<typeof FairSyncRequestSchema>['request']>,
): string | undefined {
  client.sendBytes(toBinary(FairSyncRequestSchema, create(FairSyncRequestSchema, { request })));
  return client.error?.message;
}

describe('F10 a refused message changes nothing', () => {
  test('with an invalid delta at any index', () => {
    fc.assert(
      fc.property(fc.array(goodRow, { maxLength: 40 }), badRows, fc.nat(), (rows, bad, at) => {
        const rig = createRig();
        const [badRow, field] = bad;
        const index = at % (rows.length + 1);
        const before = stateOf(rig);
        rig.victim.deltas(rows.toSpliced(index, 0, badRow));
        rig.settle();
        expect(rig.victim.error?.code).toBe('invalid-argument');
        expect(rig.victim.error?.message).toContain(`deltas[${index}].${field}`);
        expect(stateOf(rig)).toEqual(before);
        expect(cellsHeard(rig.witness)).toBe(0);
        // Its number was not used up either.
        const back = rig.connect();
        back.hello('api', 'victim');
        rig.pass(1_100);
        rig.witness.take();
        back.resend([[2, 2, 0.5]], 1);
        rig.settle();
        expect(cellsHeard(rig.witness)).toBe(1);
      }),
      { numRuns: 60 },
    );
  });

  test('with an invalid bucket of a view at any index', () => {
    const view = fc.array(
      fc.tuple(fc.nat(2), fc.nat(columns), fc.double({ min: 0, max: 1, noNaN: true })),
    );
    fc.assert(
      fc.property(view, notProbability, fc.nat(), (rows, probability, at) => {
        const rig = createRig();
        const client = rig.connect();
        client.hello('api', 'late', { lastEpoch: 99 });
        rig.pass(1_100);
        rig.witness.take();
        const before = stateOf(rig);
        const index = at % (rows.length + 1);
        const cells = viewOf(rows.toSpliced(index, 0, [0, 0, probability]));
        client.send({ kind: 'view-upload', seed: SEED, cells });
        rig.settle();
        expect(client.error?.message).toContain(`buckets[${index}].prob`);
        expect(stateOf(rig)).toEqual(before);
        expect(cellsHeard(rig.witness)).toBe(0);
      }),
      { numRuns: 30 },
    );
  });

  test('in the default tracker', () => {
    fc.assert(
      fc.property(fc.array(goodRow, { maxLength: 40 }), notFinite, fc.nat(), (rows, amount, at) => {
        const rig = createServiceRig();
        const [witness, victim] = [rig.connect(), rig.connect()];
        const index = at % (rows.length + 1);
        victim.deltas(rows.toSpliced(index, 0, [0, 0, amount]));
        rig.settle();
        expect(victim.error?.message).toContain(`deltas[${index}].delta_prob`);
        expect(stateOf(rig)).toEqual(stateOf(createServiceRig()));
        expect(cellsHeard(witness)).toBe(0);
      }),
      { numRuns: 30 },
    );
  });

  test('for arbitrary bytes the service keeps running, and holds only probabilities (F3)', () => {
    const rig = createRig();
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), fc.boolean(), (bytes, isNamed) => {
        const client = rig.connect();
        if (isNamed) client.hello('api', 'garbage');
        client.sendBytes(bytes);
        client.hangUp();
        rig.settle();
        rig.witness.requestState();
        for (const message of rig.witness.bytes.splice(0)) {
          const { cells } = decodeSyncResponse(message);
          for (const probability of cells.probabilities.subarray(0, cells.count)) {
            expect(probability).toBeGreaterThanOrEqual(0);
            expect(probability).toBeLessThanOrEqual(1);
          }
        }
        expect(rig.witness.isEnded).toBe(false);
      }),
      { numRuns: 300 },
    );
  });
});

describe('messages that are refused as a whole', () => {
  const seed = SEED;
  const cases: readonly (readonly [why: string, request: SyncRequest, text: string])[] = [
    [
      'hello is not first',
      { kind: 'hello', tracker: 'api', clientId: 'x', config: CONFIG, lastEpoch: 0 },
      'hello',
    ],
    [
      'the seed is between windows',
      { kind: 'state-request', seed: seed + 1n },
      'multiple of window_ms',
    ],
    [
      'seq is 0',
      { kind: 'delta-update', seed, deltas: deltasOf([]), seq: 0, epoch: 1 },
      'seq is 0',
    ],
  ];
  for (const [why, request, text] of cases) {
    test(why, () => {
      const { connect } = createServiceRig();
      const client = connect();
      client.hello('api', 'one');
      client.send(request);
      expect(client.error?.code).toBe('invalid-argument');
      expect(client.error?.message).toContain(text);
    });
  }

  test('an empty message, a view before hello, bad names and bad configurations', () => {
    const { connect } = createServiceRig();
    const refusal = (send: (client: ReturnType<typeof connect>) => void) => {
      const client = connect();
      send(client);
      return `${client.error?.code}: ${client.error?.message}`;
    };
    const config = (more: Partial<typeof CONFIG>) =>
      refusal((client) => client.hello('new', 'one', { config: { ...CONFIG, ...more } }));
    expect(refusal((client) => client.sendBytes(new Uint8Array(0)))).toContain('invalid-argument');
    const view = encodeSyncRequest({ kind: 'view-upload', seed, cells: viewOf([]) });
    expect(refusal((client) => client.sendBytes(view))).toContain(
      'view_upload arrived before hello',
    );
    expect(refusal((client) => client.hello('a b', 'one'))).toContain('hello.tracker');
    expect(refusal((client) => client.hello('', 'one'))).toContain('hello.tracker');
    expect(refusal((client) => client.hello('api', 'x'.repeat(65)))).toContain('hello.client_id');
    expect(config({ levels: 17 })).toContain('hello.config.levels is 17; it must be 1 to 16');
    expect(config({ columns: 0 })).toContain('hello.config.columns');
    expect(config({ levels: 16, columns: 65_536 })).toContain('262144');
    expect(config({ policy: 3 })).toContain('hello.config.policy is 3');
    expect(config({ hash: 0 })).toContain('hello.config.hash');
    expect(config({ windowMs: 9_999 })).toContain('hello.config.window_ms');
    expect(config({ ratePerSecond: Number.NaN })).toContain('hello.config.rate_per_second');
    expect(config({ increment: Number.POSITIVE_INFINITY })).toContain('hello.config.increment');
  });
});
