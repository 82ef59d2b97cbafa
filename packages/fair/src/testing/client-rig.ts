// A client, a view of six cells and a scripted service. The view is a plain implementation, so that bugs in the
// tracker's structures and in the client do not hide each other. Nothing decays here, so cells can be compared
// exactly.
import { type Logger, type Metrics, silentLogger } from '@syncline/kernel';
import { createSeededRandom } from '@syncline/kernel/testing';
import { ClientMetrics } from '../client/client-status.js';
import { NamedExchange } from '../client/named-exchange.js';
import { PendingFolds } from '../client/pending-folds.js';
import { SeedExchange } from '../client/seed-exchange.js';
import type { SharedStructure, SharedView } from '../client/shared-view.js';
import { StateClient } from '../client/state-client.js';
import { ManualClock } from '../evaluation/manual-clock.js';
import type { WireTrackerConfig } from '../wire/sync-messages.js';
import { ScriptedRemote } from './scripted-remote.js';

export const WINDOW_MS = 300_000;
export const MAIN_SEED = 1_700_000_100_000;
export const SECONDARY_SEED = MAIN_SEED + WINDOW_MS;

const LEVELS = 2;
const COLUMNS = 3;

export const CONFIG: WireTrackerConfig = {
  levels: LEVELS,
  columns: COLUMNS,
  policy: 2,
  ratePerSecond: 0,
  windowMs: WINDOW_MS,
  hash: 1,
  keyCheck: 7n,
  increment: 0.04,
  decrement: 0.000_04,
};

class PlainStructure implements SharedStructure {
  readonly pending = new PendingFolds(LEVELS * COLUMNS);
  readonly probabilities = Array.from({ length: LEVELS * COLUMNS }, () => 0);
  seed: number;

  constructor(seed: number) {
    this.seed = seed;
  }

  probabilityAt(cell: number): number {
    return this.probabilities[cell] ?? 0;
  }

  overwrite(cell: number, probability: number): void {
    this.probabilities[cell] = probability;
  }
}

export interface ClientRigOptions {
  readonly wire?: 'named' | 'seed';
  readonly flushIntervalMs?: number;
  readonly outageGain?: boolean;
}

export function createClientRig(options: ClientRigOptions = {}) {
  const { wire = 'named', flushIntervalMs = 100, outageGain = true } = options;
  const clock = new ManualClock(SECONDARY_SEED);
  const remote = new ScriptedRemote(wire);
  const main = new PlainStructure(MAIN_SEED);
  const secondary = new PlainStructure(SECONDARY_SEED);
  const shape = { levels: LEVELS, columns: COLUMNS };
  const view: SharedView = { ...shape, main, secondary, rotate: () => clock.monotonicMs() };
  const counted = countingMetrics();
  const logged = recordingLogger();
  const metrics = new ClientMetrics(counted.metrics, 'api');
  const exchangeDeps = { view, clock, metrics };
  const exchange =
    wire === 'named'
      ? new NamedExchange(exchangeDeps, { tracker: 'api', clientId: 'c', config: CONFIG })
      : new SeedExchange(exchangeDeps);
  const random = createSeededRandom('client');
  const { logger } = logged;
  const client = new StateClient(
    { clock, random, logger, metrics, transport: remote, view, exchange },
    {
      windowMs: WINDOW_MS,
      flushIntervalMs,
      retryBudgetMs: 5_000,
      silenceMs: wire === 'seed' ? 1_000 : undefined,
      gain: { isEnabled: outageGain, afterMs: 1_000, increment: 0.04 },
    },
  );
  client.start();
  return {
    client,
    clock,
    remote,
    main,
    secondary,
    counts: counted.counts,
    lines: logged.lines,
    warnings: logged.warnings,
    ...actionsOn({ client, clock, remote, main }),
  };
}

interface RigParts {
  readonly client: StateClient;
  readonly clock: ManualClock;
  readonly remote: ScriptedRemote;
  readonly main: PlainStructure;
}

function actionsOn({ client, clock, remote, main }: RigParts) {
  const pass = (ms: number) => clock.advanceTo(clock.monotonicMs() + ms);
  return {
    pass,
    /** An outcome of a cell in the main structure. */
    report(cell: number, delta: number): void {
      const next = main.probabilityAt(cell) + delta * client.gain;
      main.overwrite(cell, Math.min(1, Math.max(0, next)));
      main.pending.add(cell, delta);
      client.noteOutcome();
    },
    /** Makes the newest stream live. */
    greet(epoch = 1): void {
      remote.stream.welcome({ epoch, serverTimeMs: clock.nowMs() });
      remote.stream.snapshot(MAIN_SEED, [], { epoch });
      remote.stream.snapshot(SECONDARY_SEED, [], { epoch });
      remote.stream.take();
    },
    /** Advances time until the client has opened another stream. */
    reconnect(): void {
      const before = remote.streams.length;
      for (let ms = 0; ms <= 2_000 && remote.streams.length === before; ms += 1) pass(1);
      if (remote.streams.length === before) throw new Error('the client does not connect again');
    },
  };
}

/** Counters by name, without the prefix, and the label that tells them apart: `rounds_total acked`. */
function countingMetrics() {
  const counts: Record<string, number> = {};
  const metrics: Metrics = {
    add(name, amount = 1, { result, reason } = {}) {
      const key = `${name.replace('syncline_fair_client_', '')} ${result ?? reason ?? ''}`.trim();
      counts[key] = (counts[key] ?? 0) + amount;
    },
    set() {},
    observe() {},
  };
  return { counts, metrics };
}

function recordingLogger() {
  const lines: string[] = [];
  const warnings: string[] = [];
  const line = (message: string) => void lines.push(message);
  const warn = (message: string) => {
    line(message);
    warnings.push(message);
  };
  const logger: Logger = { ...silentLogger, info: line, warn, error: line };
  return { lines, warnings, logger };
}
