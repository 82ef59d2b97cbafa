// A simulated machine with one process on it. The machine keeps its disk, its clock and its name; the process can be
// killed, lose power, be paused and be restarted.
//
//   start      -> a new process boots with fresh ports
//   kill       -> like kill -9: what was passed to the disk or the network still takes effect
//   losePower  -> what was not synced may be gone, and peers are not notified
//   pause      -> the process stops running; everything else continues
//   exit       -> the process ends itself; its supervisor restarts it after a while
import type { Chaos } from '../chaos.js';
import type { Clock } from '../clock.js';
import { SynclineError } from '../error.js';
import type { Files } from '../files/files.js';
import type { Logger } from '../logger.js';
import { type Metrics, silentMetrics } from '../metrics.js';
import type { Network } from '../network/network.js';
import type { SeededRandom } from '../seeded-random.js';
import type { Storage } from '../storage/storage.js';
import { SimDisk } from './disk/sim-disk.js';
import type { Fabric } from './network/fabric.js';
import { SimNetwork } from './network/sim-network.js';
import { ProcessLife } from './process-life.js';
import type { Scheduler } from './scheduler.js';
import { MachineClock, SimClock } from './sim-clock.js';
import { createSimLogger } from './sim-logger.js';

/** Everything that a process can use. Every start gets its own; those of an older one are dead. */
export interface SimPorts {
  readonly nodeName: string;
  readonly clock: Clock;
  readonly random: SeededRandom;
  readonly network: Network;
  readonly files: Files;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly chaos: Chaos;
  /** Opens a store of the machine's disk; `locked` while this process has it open. */
  openStorage(name: string): Promise<Storage>;
  /** Ends this process. Its supervisor restarts the node. */
  exit(reason: string): void;
}

/** What a process does when it starts. If it fails with a SynclineError, the process exits. */
export type Boot = (ports: SimPorts) => Promise<void> | void;

export interface SimNodeDeps {
  readonly scheduler: Scheduler;
  readonly fabric: Fabric;
  readonly random: SeededRandom;
  readonly chaos: Chaos;
  /** For failures that must never happen. */
  readonly onUncaught: (error: unknown) => void;
}

export interface SimNodeOptions {
  readonly name: string;
  readonly boot: Boot;
  /** How far its wall time is ahead of simulated time. Default 0. */
  readonly skewMs?: number;
}

const RESTART_MS_MIN = 50;
const RESTART_MS_MAX = 2000;

export class SimNode {
  readonly name: string;
  readonly clock: MachineClock;
  readonly disk: SimDisk;
  readonly #deps: SimNodeDeps;
  readonly #boot: Boot;
  readonly #random: SeededRandom;
  #life: ProcessLife | undefined;
  #generation = 0;
  #hasPower = true;

  constructor(deps: SimNodeDeps, options: SimNodeOptions) {
    this.name = options.name;
    this.#deps = deps;
    this.#boot = options.boot;
    this.#random = deps.random.fork(`node/${options.name}`);
    this.clock = new MachineClock(deps.scheduler, options.skewMs);
    this.disk = new SimDisk({
      scheduler: deps.scheduler,
      random: this.#random.fork('disk'),
      wallMs: () => this.clock.wallMs(),
    });
    deps.fabric.addMachine(this.name);
  }

  get state(): 'running' | 'paused' | 'down' {
    const state = this.#life?.state;
    return state === undefined || state === 'dead' ? 'down' : state;
  }

  /** The process that runs now. */
  get life(): ProcessLife | undefined {
    return this.state === 'down' ? undefined : this.#life;
  }

  /** Timers that the process has set. After a clean stop there should be none. */
  get pendingTimersCount(): number {
    return this.#life === undefined ? 0 : this.#deps.scheduler.pendingCount(this.#life, 'timer');
  }

  /** Sides of connections that the process holds. */
  get connectionsCount(): number {
    return this.#life === undefined ? 0 : this.#deps.fabric.connectionsCount(this.#life);
  }

  /** Starts a process, turning on the power if needed. Does nothing while one is running. */
  start(): void {
    if (this.state !== 'down') return;
    const { scheduler, fabric } = this.#deps;
    if (!this.#hasPower) fabric.powerOn(this.name);
    this.#hasPower = true;
    this.#generation += 1;
    const life = new ProcessLife(this.name, this.#generation);
    this.#life = life;
    const ports = this.#createPorts(life);
    const run = () => void this.#runBoot(ports, life);
    scheduler.after(0, { kind: 'boot', subject: this.name, owner: life, run });
  }

  kill(): void {
    const life = this.#endLife('kill');
    if (life === undefined) return;
    this.disk.endProcess();
    this.#deps.fabric.endProcess(life);
  }

  losePower(): void {
    if (!this.#hasPower) return;
    const life = this.#endLife('lose-power');
    this.#hasPower = false;
    this.disk.losePower();
    this.#deps.fabric.powerOff(this.name, life);
  }

  pause(): void {
    this.#deps.scheduler.note('pause', this.name);
    this.#life?.pause();
  }

  resume(): void {
    this.#deps.scheduler.note('resume', this.name);
    this.#deps.scheduler.release(this.#life?.resume() ?? []);
  }

  #endLife(how: string): ProcessLife | undefined {
    const life = this.life;
    this.#deps.scheduler.note(how, this.name);
    life?.end();
    return life;
  }

  #exit(life: ProcessLife, reason: string): void {
    if (life.isDead) return;
    const { scheduler } = this.#deps;
    scheduler.note('exit', `${this.name}: ${reason}`);
    this.kill();
    const delayMs = RESTART_MS_MIN + (RESTART_MS_MAX - RESTART_MS_MIN) * this.#random.float();
    const run = () => void (this.#hasPower && this.start());
    scheduler.after(delayMs, { kind: 'supervisor', subject: this.name, run });
  }

  async #runBoot(ports: SimPorts, life: ProcessLife): Promise<void> {
    try {
      await this.#boot(ports);
    } catch (error) {
      if (life.isDead) return; // it died in a synchronous call, and its code was unwound
      if (error instanceof SynclineError) ports.exit(`boot failed: ${error.message}`);
      else this.#deps.onUncaught(error);
    }
  }

  #createPorts(life: ProcessLife): SimPorts {
    const { scheduler, fabric, chaos } = this.#deps;
    return {
      nodeName: this.name,
      clock: new SimClock({ scheduler, machine: this.clock, life }),
      random: this.#random.fork(`process/${life.generation}`),
      network: new SimNetwork({ fabric, life }),
      files: this.disk.openFiles(life),
      logger: createSimLogger(scheduler, this.name),
      metrics: silentMetrics,
      chaos,
      openStorage: (name) => this.disk.openStorage(name, life),
      exit: (reason) => this.#exit(life, reason),
    };
  }
}
