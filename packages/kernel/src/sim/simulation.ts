// A simulation: machines, the network between them, one clock, one seed.
//
// Everything runs in this process and thread, at the speed of its events. A test adds nodes, runs a body, causes
// faults and checks the outcome; the same seed gives the same run.
import { assert } from '../assert.js';
import type { Clock } from '../clock.js';
import { createSeededRandom, type SeededRandom } from '../seeded-random.js';
import { calmDisk } from './disk/disk-plan.js';
import { Fabric } from './network/fabric.js';
import { calmLink } from './network/link-profile.js';
import { MessageLink } from './network/message-link.js';
import type { NetworkControls } from './network/network-controls.js';
import { ProcessLife } from './process-life.js';
import { RejectionWatch } from './rejection-watch.js';
import { type Budget, Scheduler } from './scheduler.js';
import { SimChaos } from './sim-chaos.js';
import { MachineClock, SimClock } from './sim-clock.js';
import { type Boot, SimNode } from './sim-node.js';
import { SimulationFailure, type SimulationFailureKind } from './simulation-failure.js';
import { Trace, type TraceEntry } from './trace.js';

export interface SimulationOptions {
  readonly seed: number | string;
  /** Simulated time after which a run has failed. Default 1 hour. */
  readonly timeMsMax?: number;
  /** Events after which a run has failed. Default 5 million. */
  readonly eventsMax?: number;
  /** Receives every entry of the trace, in order. Default: none. */
  readonly onTrace?: (entry: TraceEntry) => void;
}

const TIME_MS_MAX = 3_600_000;
const EVENTS_MAX = 5_000_000;

export class Simulation {
  readonly seed: number | string;
  /** Fork it by name: `random.fork('my-workload')`. */
  readonly random: SeededRandom;
  readonly trace: Trace;
  readonly network: NetworkControls;
  readonly chaos: SimChaos;
  /** The clock of the test itself: no skew, never paused. */
  readonly clock: Clock;
  readonly #scheduler: Scheduler;
  readonly #fabric: Fabric;
  readonly #nodes = new Map<string, SimNode>();
  readonly #budget: Budget;
  #uncaught: { readonly error: unknown } | undefined;

  constructor(options: SimulationOptions) {
    this.seed = options.seed;
    this.random = createSeededRandom(options.seed);
    this.#budget = {
      timeMsMax: options.timeMsMax ?? TIME_MS_MAX,
      eventsMax: options.eventsMax ?? EVENTS_MAX,
    };
    this.trace = new Trace(options.onTrace);
    const { random, trace } = this;
    const scheduler = new Scheduler({ random, trace });
    this.#scheduler = scheduler;
    this.#fabric = new Fabric({ scheduler, random });
    this.network = this.#fabric;
    this.chaos = new SimChaos(random);
    const life = new ProcessLife('test', 1);
    this.clock = new SimClock({ scheduler, machine: new MachineClock(scheduler), life });
  }

  get nowMs(): number {
    return this.#scheduler.nowMs;
  }

  get eventsCount(): number {
    return this.#scheduler.eventsCount;
  }

  get nodes(): readonly SimNode[] {
    return [...this.#nodes.values()];
  }

  /** Adds a machine. Its process boots when the node is started. */
  addNode(name: string, boot: Boot, options: { readonly skewMs?: number } = {}): SimNode {
    const { random, chaos } = this;
    const scheduler = this.#scheduler;
    const onUncaught = (error: unknown) => {
      this.#uncaught ??= { error };
    };
    const deps = { scheduler, fabric: this.#fabric, random, chaos, onUncaught };
    const node = new SimNode(deps, { name, boot, ...options });
    this.#nodes.set(name, node);
    return node;
  }

  /** A link for whole messages from one node to another, with loss, duplicates and reordering; see MessageLink. */
  messageLink<Message>(
    from: SimNode,
    to: SimNode,
    deliver: (message: Message) => void,
  ): MessageLink<Message> {
    const link = this.#fabric.link(from.name, to.name);
    return new MessageLink({ scheduler: this.#scheduler, link, receiver: () => to.life, deliver });
  }

  /**
   * Ends every fault: all links are open and reliable, disks are healthy, rare branches are off, every node is
   * running.
   */
  calm(): void {
    this.chaos.calm();
    this.network.adjust(calmLink);
    this.network.heal();
    for (const node of this.#nodes.values()) {
      node.disk.adjust(calmDisk);
      node.resume();
      node.start();
    }
  }

  /** Runs the simulation until the body is done. Throws SimulationFailure; may be called again afterwards. */
  async run<T>(body: () => Promise<T>): Promise<T> {
    using watch = new RejectionWatch();
    let result: { readonly value: T } | undefined;
    const start = () => {
      body().then(
        (value) => {
          result = { value };
        },
        (error: unknown) => {
          this.#uncaught ??= { error };
        },
      );
    };
    this.#scheduler.after(0, { kind: 'body', subject: 'test', run: start });
    const isDone = () =>
      result !== undefined || this.#uncaught !== undefined || watch.reasons.length > 0;
    const end = await this.#scheduler.run(isDone, this.#budget).catch((error: unknown) => {
      this.#uncaught ??= { error };
      return 'done' as const;
    });
    if (this.#uncaught !== undefined) throw this.#failure('thrown', this.#uncaught.error);
    if (watch.reasons.length > 0) throw this.#failure('unhandled-rejection', watch.reasons[0]);
    if (result !== undefined) return result.value;
    assert(end !== 'done', 'a run is done when its body is, or something failed');
    throw this.#failure(end);
  }

  #failure(kind: SimulationFailureKind, cause?: unknown): SimulationFailure {
    const facts = { kind, seed: this.seed, timeMs: this.nowMs, traceTail: this.trace.tail() };
    const reason = cause instanceof Error ? cause.message : String(cause);
    const { timeMsMax, eventsMax } = this.#budget;
    const message: Record<SimulationFailureKind, string> = {
      thrown: reason,
      'unhandled-rejection': `unhandled promise rejection: ${reason}`,
      deadlock:
        'no events are left, but the body is still waiting, perhaps for a real timer, socket or file',
      'time-budget': `not done, and the next event lies beyond timeMsMax, which is ${timeMsMax} ms`,
      'event-budget': `not done after as many events as eventsMax allows, which are ${eventsMax}`,
    };
    return new SimulationFailure(message[kind], cause === undefined ? facts : { ...facts, cause });
  }
}
