// Workers in a simulated process: the same code as in threads, with messages that are delayed, and that a test can
// lose, repeat, or drop together with the worker that sent them.
import type { Random } from '@syncline/kernel';
import type { SimPorts } from '@syncline/kernel/testing';
import type { Pipeline } from '../pipeline/define.js';
import type { PeerMessage, ToWorker } from './messages.js';
import { PipelineWorker } from './worker.js';
import type { SpawnWorkers, WorkerEvents } from './workers-engine.js';

/** What happens to a message. */
export type Fate = 'delivered' | 'lost' | 'repeated';

export interface SimulatedWorkersOptions {
  /** Maximum delay of a message. Default 2. */
  delayMs?(from: number | 'main'): number;
  /** `from` is the number of a worker, or `main`. */
  fate?(
    from: number | 'main',
    message: { readonly kind?: string },
    kill: (worker: number, reason?: string) => void,
  ): Fate;
}

export class SimulatedWorkers {
  readonly #ports: SimPorts;
  readonly #pipeline: Pipeline;
  readonly #options: SimulatedWorkersOptions;
  readonly #random: Random & { float(): number };
  /** Number of groups that were started. */
  groups = 0;

  constructor(ports: SimPorts, pipeline: Pipeline, options: SimulatedWorkersOptions = {}) {
    this.#ports = ports;
    this.#pipeline = pipeline;
    this.#options = options;
    this.#random = ports.random.fork('workers');
  }

  readonly spawn: SpawnWorkers = (count, events) => {
    this.groups += 1;
    return new SimulatedGroup(count, events, {
      ports: this.#ports,
      pipeline: this.#pipeline,
      options: this.#options,
      random: this.#random,
    });
  };
}

interface GroupDeps {
  readonly ports: SimPorts;
  readonly pipeline: Pipeline;
  readonly options: SimulatedWorkersOptions;
  readonly random: { float(): number };
}

class SimulatedGroup {
  readonly #deps: GroupDeps;
  readonly #events: WorkerEvents;
  readonly #workers: readonly PipelineWorker[];
  readonly #dead = new Set<number>();
  /** By channel, since messages of a channel keep their order. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #isClosed = false;

  constructor(count: number, events: WorkerEvents, deps: GroupDeps) {
    this.#deps = deps;
    this.#events = events;
    const { clock, random, files } = deps.ports;
    this.#workers = Array.from(
      { length: count },
      (_, index) =>
        new PipelineWorker({
          graph: deps.pipeline.build(),
          index,
          clock,
          random,
          files,
          path: (path) => path,
          tell: (message) =>
            this.#carry(index, 'main', message, () => events.receive(index, message)),
          send: (to, message) =>
            this.#carry(index, to, message, () => this.#reach(index, to, message)),
        }),
    );
  }

  #reach(from: number, to: number, message: PeerMessage): void {
    this.#workers[to]?.receiveFrom(from, structuredClone(message));
  }

  post(worker: number, message: ToWorker): void {
    const copy = structuredClone(message);
    this.#carry('main', worker, message, () => this.#workers[worker]?.receive(copy));
  }

  #carry(from: number | 'main', to: number | 'main', message: object, deliver: () => void): void {
    const { ports, options, random } = this.#deps;
    const kill = (worker: number, reason = 'killed') =>
      ports.clock.setTimer(0, () => this.#kill(worker, reason));
    const isGone = (end: number | 'main') => end !== 'main' && this.#dead.has(end);
    const fate = options.fate?.(from, message, kill) ?? 'delivered';
    if (fate === 'lost' || isGone(from)) return;
    const channel = `${from}>${to}`;
    const waiting = this.#waiting.get(channel) ?? [];
    this.#waiting.set(channel, waiting);
    for (let copies = fate === 'repeated' ? 2 : 1; copies > 0; copies -= 1) {
      waiting.push(() => {
        if (!isGone(from) && !isGone(to) && !(this.#isClosed && to === 'main')) deliver();
      });
      const delayMs = random.float() * (options.delayMs?.(from) ?? 2);
      ports.clock.setTimer(delayMs, () => waiting.shift()?.());
    }
  }

  /** From now on, no messages are delivered from it or to it. */
  #kill(worker: number, reason: string): void {
    if (this.#dead.has(worker) || this.#isClosed) return;
    this.#dead.add(worker);
    this.#events.lost(worker, reason);
  }

  /** Also closes killed workers, which keep running until now, as threads do until they are terminated. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#workers.map((worker) => worker.close()));
  }
}
