// Every row of the table of failures, against a service that says what the test tells it to.
import { type Logger, SynclineError, silentLogger } from '@syncline/kernel';
import { createSeededRandom } from '@syncline/kernel/testing';
import { describe, expect, test } from 'vitest';
import { decayed } from '../decay.js';
import { ManualClock } from '../evaluation/manual-clock.js';
import { listDeltas, ScriptedRemote } from '../testing/scripted-remote.js';
import type { SyncRequest } from '../wire/sync-messages.js';
import { ClientMetrics } from './client-metrics.js';
import { NamedExchange } from './named-exchange.js';
import { PendingFolds } from './pending-folds.js';
import { SeedExchange } from './seed-exchange.js';
import type { SharedStructure, SharedView } from './shared-view.js';
import { StateClient } from './state-client.js';

const MAIN = 1_700_000_100_000;
const WINDOW_MS = 300_000;
const LEVELS = 2;
const COLUMNS = 3;
const DECAY = { policy: 'linear', ratePerSecond: 0.005 } as const;
const CONFIG = {
  levels: LEVELS,
  columns: COLUMNS,
  policy: 2,
  ratePerSecond: 0.005,
  windowMs: WINDOW_MS,
  hash: 1,
  keyCheck: 7n,
  increment: 0.04,
  decrement: 0.000_04,
};

class PlainStructure implements SharedStructure {
  readonly pending = new PendingFolds(LEVELS * COLUMNS);
  readonly #cells = Array.from({ length: LEVELS * COLUMNS }, () => [0, 0] as [number, number]);
  seed: number;

  constructor(seed: number) {
    this.seed = seed;
  }

  probabilityAt(cell: number, nowMs: number): number {
    const [probability, timeMs] = this.#cells[cell] ?? [0, 0];
    return decayed(DECAY, probability, nowMs - timeMs);
  }

  overwrite(cell: number, probability: number, timeMs: number): void {
    this.#cells[cell] = [probability, timeMs];
  }
}

function rig(options: { wire?: 'named' | 'seed'; flushIntervalMs?: number; gain?: boolean } = {}) {
  const { wire = 'named', flushIntervalMs = 100, gain = true } = options;
  const clock = new ManualClock({ wallMs: MAIN + WINDOW_MS });
  const remote = new ScriptedRemote(wire);
  const main = new PlainStructure(MAIN);
  const secondary = new PlainStructure(MAIN + WINDOW_MS);
  const view: SharedView = {
    levels: LEVELS,
    columns: COLUMNS,
    main,
    secondary,
    rotate: () => clock.monotonicMs(),
  };
  const counts = new Map<string, number>();
  const count = (name: string, amount = 1, labels: object = {}) => {
    const { result, reason } = labels as { result?: string; reason?: string };
    const key = [name.replace('syncline_fair_client_', ''), result ?? reason].filter(Boolean);
    counts.set(key.join(' '), (counts.get(key.join(' ')) ?? 0) + amount);
  };
  const metrics = new ClientMetrics({ add: count, set() {}, observe() {} }, 'api');
  const lines: string[] = [];
  const line = (message: string) => void lines.push(message);
  const logger: Logger = { ...silentLogger, info: line, warn: line, error: line };
  const exchange =
    wire === 'named'
      ? new NamedExchange(
          { view, clock, metrics },
          { tracker: 'api', clientId: 'c', config: CONFIG },
        )
      : new SeedExchange({ view, clock, metrics });
  const client = new StateClient(
    {
      clock,
      random: createSeededRandom('client'),
      logger,
      metrics,
      transport: remote.createTransport(),
      view,
      exchange,
    },
    {
      windowMs: WINDOW_MS,
      flushIntervalMs,
      retryBudgetMs: 5_000,
      silenceMs: wire === 'seed' ? 1_000 : undefined,
      gain: { isEnabled: gain, afterMs: 1_000, increment: 0.04 },
    },
  );
  let elapsedMs = 0;
  const pass = (ms: number) => {
    elapsedMs += ms;
    clock.advanceTo(elapsedMs);
  };
  /** An outcome of a cell in the main structure. */
  const report = (cell: number, delta: number) => {
    const nowMs = clock.monotonicMs();
    const next = main.probabilityAt(cell, nowMs) + delta * client.gain;
    main.overwrite(cell, Math.min(1, Math.max(0, next)), nowMs);
    main.pending.add(cell, delta);
    client.noteOutcome();
  };
  const probability = (cell: number) => main.probabilityAt(cell, clock.monotonicMs());
  /** Brings the newest stream to live. */
  const greet = (epoch = 1) => {
    remote.stream.welcome({ epoch, serverTimeMs: clock.nowMs() });
    remote.stream.snapshot(MAIN, [], { epoch });
    remote.stream.snapshot(MAIN + WINDOW_MS, [], { epoch });
    remote.stream.take();
  };
  const reconnect = () => {
    const before = remote.streams.length;
    pass(2_000);
    expect(remote.streams.length).toBeGreaterThan(before);
  };
  client.start();
  return {
    client,
    clock,
    remote,
    view,
    main,
    secondary,
    counts,
    lines,
    pass,
    report,
    probability,
    greet,
    reconnect,
  };
}

function kinds(requests: readonly SyncRequest[]): readonly string[] {
  return requests.map((request) => request.kind);
}

function updates(requests: readonly SyncRequest[]) {
  return requests.flatMap((request) =>
    request.kind === 'delta-update'
      ? [{ seq: request.seq, epoch: request.epoch, deltas: listDeltas(request.deltas) }]
      : [],
  );
}

describe('connecting', () => {
  test('hello, then nothing before Welcome, then both structures, then live', () => {
    const { client, remote, report, pass, probability } = rig();
    expect(remote.stream.take()).toMatchObject([
      { kind: 'hello', tracker: 'api', clientId: 'c', lastEpoch: 0, config: CONFIG },
    ]);
    remote.stream.values(MAIN, [[0, 0, 0.5]]);
    expect(probability(0)).toBe(0);
    report(1, 0.04);
    pass(1_000);
    expect(remote.stream.take()).toEqual([]);
    remote.stream.welcome({ epoch: 1, activeInstances: 3 });
    expect(remote.stream.take()).toEqual([
      { kind: 'state-request', seed: BigInt(MAIN) },
      { kind: 'state-request', seed: BigInt(MAIN + WINDOW_MS) },
    ]);
    remote.stream.snapshot(MAIN, [[1, 2, 0.5]]);
    expect(client.isLive).toBe(false);
    remote.stream.snapshot(MAIN + WINDOW_MS);
    expect(client.status()).toMatchObject({ connected: true, epoch: 1, activeInstances: 3 });
    expect([probability(5), probability(1)]).toEqual([0.5, 0.04]);
  });

  test('waits up to 100 ms, then up to 2 s, and for ever', () => {
    const { remote, pass } = rig();
    for (let attempt = 1; attempt < 50; attempt += 1) {
      expect(remote.streams.length).toBe(attempt);
      remote.stream.fail(new SynclineError('unavailable', 'gone'));
      for (let ms = 0; remote.streams.length === attempt; ms += 1) {
        expect(ms).toBeLessThanOrEqual(Math.min(2_000, 100 * 2 ** (attempt - 1)));
        pass(1);
      }
    }
  });

  test('a configuration that is refused is tried again every 30 s, and told once', () => {
    const { remote, pass, lines } = rig();
    for (let attempt = 1; attempt < 4; attempt += 1) {
      remote.stream.fail(
        new SynclineError('conflict', 'levels differ', { details: { field: 'levels' } }),
      );
      pass(29_999);
      expect(remote.streams.length).toBe(attempt);
      pass(1);
    }
    expect(lines.filter((line) => line.includes('refuses'))).toHaveLength(1);
  });

  test('a service that never answers is left after the retry budget', () => {
    const { remote, pass } = rig();
    pass(5_000);
    expect(remote.streams[0]?.isCancelled).toBe(true);
    pass(100);
    expect(remote.streams.length).toBe(2);
  });
});

describe('rounds', () => {
  test('one is in flight, the next waits for its acknowledgement', () => {
    const { remote, report, pass, greet, counts, client } = rig();
    greet();
    report(0, 0.04);
    report(0, 0.04);
    report(4, -0.000_04);
    pass(100);
    expect(updates(remote.stream.take())).toEqual([
      { seq: 1, epoch: 1, deltas: ['0:0 0.08 [0, 1]', '1:1 -0.00004 [0, 1]'] },
    ]);
    report(0, 0.04);
    pass(1_000);
    expect(remote.stream.take()).toEqual([]);
    expect(client.status().pendingCells).toBe(2);
    remote.stream.values(MAIN, [[0, 0, 0.08]], { ackedSeq: 1 });
    pass(100);
    expect(updates(remote.stream.take())).toEqual([
      { seq: 2, epoch: 1, deltas: ['0:0 0.04 [0, 1]'] },
    ]);
    remote.stream.say({ epoch: 1, ackedSeq: 2 });
    expect(client.status().pendingCells).toBe(0);
    expect(counts.get('rounds_total acked')).toBe(2);
  });

  test('an interval of 0 flushes at the end of the turn, not in the call', () => {
    const { remote, report, pass, greet } = rig({ flushIntervalMs: 0 });
    greet();
    report(0, 0.04);
    report(1, 0.04);
    expect(remote.stream.take()).toEqual([]);
    pass(0);
    expect(updates(remote.stream.take())[0]?.deltas).toHaveLength(2);
    report(0, 0.04);
    pass(0);
    remote.stream.say({ epoch: 1, ackedSeq: 1 });
    pass(0);
    expect(updates(remote.stream.take())).toMatchObject([{ seq: 2 }]);
  });

  test('what is in flight and unsent stays on top of what the service says', () => {
    const { remote, report, pass, greet, probability } = rig();
    greet();
    report(0, 0.25);
    pass(100);
    report(0, 0.125);
    remote.stream.values(MAIN, [[0, 0, 0.5]]); // another's change; ours is on its way
    expect(probability(0)).toBe(0.875);
    remote.stream.values(MAIN, [[0, 0, 0.75]], { ackedSeq: 1 });
    expect(probability(0)).toBe(0.875);
    pass(100);
    remote.stream.values(MAIN, [[0, 0, 0.875]], { ackedSeq: 2 });
    expect(probability(0)).toBe(0.875);
  });

  test('an acknowledgement that comes after the values takes what was in flight off again', () => {
    const { remote, report, pass, greet, probability } = rig();
    greet();
    report(0, 0.25);
    pass(100);
    remote.stream.values(MAIN, [[0, 0, 0.25]]); // first message of a round: ours is in it already
    report(0, 0.125);
    remote.stream.values(MAIN + WINDOW_MS, [], { ackedSeq: 1 });
    expect(probability(0)).toBe(0.375);
  });

  test('nothing is sent while the stream is full', () => {
    const { remote, report, pass, greet } = rig();
    greet();
    remote.stream.isFull = true;
    report(0, 0.04);
    pass(100);
    remote.stream.take();
    remote.stream.say({ epoch: 1, ackedSeq: 1 });
    report(0, 0.04);
    pass(1_000);
    expect(remote.stream.take()).toEqual([]);
    remote.stream.drain();
    pass(100);
    expect(kinds(remote.stream.take())).toEqual(['delta-update']);
  });
});
