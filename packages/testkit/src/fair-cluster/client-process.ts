// The process of one instance: a real tracker, and requests that sometimes fail.
//
// F8  `register` and `report` never throw: an error would end the run.
import { createFairTracker, type FairTracker, type SyncResponse } from '@syncline/fair';
import { assert } from '@syncline/kernel';
import type { SimPorts } from '@syncline/kernel/testing';
import { OwnOutcomesStay } from './checks/own-outcomes-stay.js';
import { ValueDelays } from './checks/value-delays.js';
import { type FairCluster, SERVICE_NODE } from './fair-cluster.js';
import { type ClientPlan, cellsMax, FLOW_KEYS } from './fair-plan.js';
import type { FlowCells } from './flow-cells.js';
import { ProbingMetrics } from './probing-metrics.js';
import { createSimRemote } from './sim-remote.js';
import { wasAnyStepped } from './wall-steps.js';

export class ClientProcess {
  readonly #ports: SimPorts;
  readonly #cluster: FairCluster;
  readonly #metrics: ProbingMetrics;
  readonly #leastOutcomes: OwnOutcomesStay | undefined;
  readonly plan: ClientPlan;
  readonly tracker: FairTracker;
  readonly delays = new ValueDelays();

  constructor(ports: SimPorts, cluster: FairCluster, plan: ClientPlan) {
    const { clock, random, logger, chaos } = ports;
    const { shape, flushIntervalMs, retryBudgetMs, outageGain } = plan;
    const { ratePerSecond, ...shapeOptions } = shape;
    this.#ports = ports;
    this.#cluster = cluster;
    this.plan = plan;
    this.#metrics = new ProbingMetrics(chaos);
    const isLowered = plan.successPart > 0 || outageGain || plan.tracker === '';
    if (!isLowered) this.#leastOutcomes = new OwnOutcomesStay(shape);
    const onReceived = (response: SyncResponse, delayMs: number) =>
      this.#received(response, delayMs);
    const onTaken = () => this.#lookAtAll();
    const remote = createSimRemote({ ports, cluster, onReceived, onTaken }, plan);
    this.tracker = createFairTracker(
      {
        ...shapeOptions,
        lambdaPerSecond: ratePerSecond,
        leakPerSecond: ratePerSecond,
        flushIntervalMs,
        retryBudgetMs,
        outageGain,
        remote,
      },
      { clock, random, logger, metrics: this.#metrics },
    );
  }

  get #ownOutcomes(): OwnOutcomesStay | undefined {
    const isStepped = wasAnyStepped(this.#cluster.simulation, [SERVICE_NODE, this.plan.node]);
    return isStepped ? undefined : this.#leastOutcomes;
  }

  /** Then its view contains outcomes that were never acknowledged. */
  get hasGivenUp(): boolean {
    return this.#metrics.droppedCount > 0;
  }

  get flowCells(): FlowCells {
    return this.#cluster.flowCells;
  }

  async run(): Promise<void> {
    const { clock, random } = this.#ports;
    for (;;) {
      await clock.sleep(2 * this.plan.betweenMs * random.float());
      if (!this.#cluster.isLoading) return;
      this.request();
    }
  }

  request(): void {
    const { random } = this.#ports;
    const key = FLOW_KEYS[Math.floor(FLOW_KEYS.length * random.float())] ?? '';
    const cost = random.float() < 0.2 ? 3 : 1;
    this.#ownOutcomes?.dropped(this.#metrics.droppedCount);
    this.tracker.register(key, { cost });
    const outcome = random.float() < this.plan.successPart ? 'success' : 'failure';
    const { seeds, gain } = this.tracker.status();
    this.tracker.report(key, outcome, { cost });
    if (outcome === 'failure') {
      const amount = cost * this.plan.shape.increment * gain;
      for (const seed of [seeds.main, seeds.secondary]) this.#noteFailure(key, seed, amount);
    }
    this.#look(key);
  }

  #noteFailure(key: string, seed: number, amount: number): void {
    const { tracker, shape } = this.plan;
    const cells = this.flowCells.of(shape, key, seed);
    this.#cluster.outcomes.add(tracker, seed, cells, amount);
    const places = cells.map((cell) => {
      const row = Math.floor(cell / shape.columns);
      return `${row}:${cell - row * shape.columns}`;
    });
    this.#ownOutcomes?.reported(seed, places, amount, this.#ports.clock.monotonicMs());
  }

  #received(response: SyncResponse, delayMs: number): void {
    const isPlain = response.epoch === 0 && response.welcome === undefined;
    if (isPlain && this.plan.tracker !== '') return; // a stream receives the default tracker until its hello
    this.delays.received(response, delayMs);
    this.#ownOutcomes?.received(response, this.#ports.clock.monotonicMs(), delayMs);
  }

  #lookAtAll(): void {
    if (this.#ownOutcomes === undefined) return;
    this.#ownOutcomes.dropped(this.#metrics.droppedCount);
    for (const key of FLOW_KEYS) this.#look(key);
  }

  #look(key: string): void {
    const { pendingCells } = this.tracker.status();
    const most = cellsMax(this.plan.shape);
    assert(pendingCells <= most, `F9: ${pendingCells} cells are pending, more than ${most}`);
    const { levels, seed } = this.tracker.peek(key);
    const nowMs = this.#ports.clock.monotonicMs();
    for (const { level, column, probability } of levels) {
      assert(probability >= 0 && probability <= 1, `F3: a cell of a view is ${probability}`);
      this.#ownOutcomes?.check(`${seed}/${level}:${column}`, probability, nowMs);
    }
  }
}
