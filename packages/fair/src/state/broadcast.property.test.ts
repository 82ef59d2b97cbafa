import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  createServiceRig,
  type DeltaRow,
  type RigClient,
  type RigOptions,
  SEED,
  valuesOf,
  WINDOW_MS,
} from '../testing/service-rig.js';

const SEEDS = [SEED, SEED + BigInt(WINDOW_MS)];
const CLIENTS = 4;

type Step =
  | {
      readonly kind: 'deltas';
      readonly client: number;
      readonly seed: number;
      readonly rows: DeltaRow[];
    }
  | { readonly kind: 'fill' | 'drain'; readonly client: number }
  | { readonly kind: 'request'; readonly client: number; readonly seed: number }
  | { readonly kind: 'pass'; readonly ms: number };

const clients = fc.nat(CLIENTS - 1);
const seeds = fc.nat(SEEDS.length - 1);
const row: fc.Arbitrary<DeltaRow> = fc.tuple(
  fc.nat(2),
  fc.nat(9),
  fc.double({ min: -0.5, max: 1, noNaN: true }),
);
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('deltas' as const),
        client: clients,
        seed: seeds,
        rows: fc.array(row, { maxLength: 12 }),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constantFrom('fill' as const, 'drain' as const),
        client: clients,
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('request' as const), client: clients, seed: seeds }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.nat(300) }) },
  ),
  { maxLength: 60, size: 'max' },
);

/** A client that applies what it receives, and checks that acknowledgements do not arrive too early. */
class Believer {
  readonly #unconfirmed = new Map<number, Set<string>>();
  readonly view = new Map<string, number>();
  lastAck = 0;

  readonly client: RigClient;

  constructor(client: RigClient) {
    this.client = client;
  }

  send(rows: readonly DeltaRow[], at: bigint): void {
    this.client.deltas(rows, at);
    this.#unconfirmed.set(
      this.client.seq,
      new Set(rows.map(([level, column]) => `${at} ${level}/${column}`)),
    );
  }

  receive(): void {
    for (const response of this.client.take()) {
      if (response.isSnapshot) this.#clear(`${response.seed} `);
      for (const [cell, probability] of valuesOf(response))
        this.#overwrite(`${response.seed} ${cell}`, probability);
      if (response.ackedSeq !== 0) this.#acknowledged(response.ackedSeq);
    }
  }

  #clear(prefix: string): void {
    for (const cell of this.view.keys()) if (cell.startsWith(prefix)) this.view.set(cell, 0);
    for (const cells of this.#unconfirmed.values())
      for (const cell of cells) if (cell.startsWith(prefix)) cells.delete(cell);
  }

  #overwrite(cell: string, probability: number): void {
    this.view.set(cell, probability);
    for (const cells of this.#unconfirmed.values()) cells.delete(cell);
  }

  #acknowledged(seq: number): void {
    expect(seq).toBeGreaterThanOrEqual(this.lastAck);
    this.lastAck = seq;
    for (const [sent, cells] of this.#unconfirmed) {
      if (sent > seq) continue;
      // A cell that was 0 and stayed 0 is never sent.
      for (const cell of cells) expect(this.view.get(cell) ?? 0).toBe(0);
      this.#unconfirmed.delete(sent);
    }
  }
}

function play(list: readonly Step[], options: RigOptions): void {
  const rig = createServiceRig(options);
  const believers = Array.from({ length: CLIENTS }, (_, index) => {
    const joined = rig.connect();
    joined.hello('api', `c${index}`);
    return new Believer(joined);
  });
  const listen = () => {
    for (const believer of believers) believer.receive();
  };
  for (const step of list) {
    const believer = 'client' in step ? believers[step.client] : undefined;
    const at = 'seed' in step ? (SEEDS[step.seed] ?? SEED) : SEED;
    if (step.kind === 'deltas') believer?.send(step.rows, at);
    else if (step.kind === 'request') believer?.client.requestState(at);
    else if (step.kind === 'pass') rig.pass(step.ms);
    else if (step.kind === 'drain') believer?.client.drained();
    else if (believer !== undefined) believer.client.hasRoom = false;
    listen();
  }
  for (const { client: drained } of believers) drained.drained();
  rig.pass(5_000); // rounds that were held by an interval or a budget
  listen();
  const api = rig.service.describe(1_000).namespaces.find(({ tracker }) => tracker === 'api');
  for (const { seed: at, row: level, column, probability } of api?.highest ?? []) {
    for (const { view } of believers) {
      const heard = view.get(`${at} ${level}/${column}`) ?? 0;
      const leakMax = 0.01 * (list.length * 0.3 + 6); // values age while nothing is sent
      expect(Math.abs(heard - probability)).toBeLessThanOrEqual(leakMax * heard + 2e-6);
    }
  }
  for (const { client: sender, lastAck } of believers) expect(lastAck).toBe(sender.seq);
}

const runs = { numRuns: 60 };

test('F6 every stream ends with what the service holds, and no acknowledgement comes early', () => {
  fc.assert(
    fc.property(steps, (list) => play(list, {})),
    runs,
  );
});

test('F6 also with one round per interval', () => {
  fc.assert(
    fc.property(steps, (list) => play(list, { broadcastIntervalMs: 250 })),
    runs,
  );
});

test('F6 also with a budget of cells per round', () => {
  const budgets = fc.integer({ min: 1, max: 8 });
  fc.assert(
    fc.property(steps, budgets, (list, broadcastBudgetCells) =>
      play(list, { broadcastBudgetCells }),
    ),
    runs,
  );
});
