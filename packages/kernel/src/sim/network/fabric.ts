// The simulated network as a whole: machines, the links between them, listeners and open connections.
//
// A machine's name is its host name. Each machine has its own loopback, which has no faults.
import type { SeededRandom } from '../../seeded-random.js';
import type { ProcessLife } from '../process-life.js';
import type { Scheduler } from '../scheduler.js';
import { Link } from './link.js';
import { calmLink, type LinkProfile } from './link-profile.js';
import type { NetworkControls } from './network-controls.js';
import type { SimConnection } from './sim-connection.js';
import type { SimListener } from './sim-listener.js';

export interface FabricDeps {
  readonly scheduler: Scheduler;
  readonly random: SeededRandom;
}

export class Fabric implements NetworkControls {
  readonly scheduler: Scheduler;
  /** `machine:port` of every listener. */
  readonly listeners = new Map<string, SimListener>();
  readonly #random: SeededRandom;
  readonly #machines = new Set<string>();
  readonly #uris = new Map<string, readonly string[]>();
  readonly #links = new Map<string, Link>();
  readonly #connections = new Map<SimConnection, ProcessLife>();
  #profile: LinkProfile = calmLink;
  #lastPort = 49_151;

  constructor(deps: FabricDeps) {
    this.scheduler = deps.scheduler;
    this.#random = deps.random.fork('network');
  }

  addMachine(name: string): void {
    this.#machines.add(name);
  }

  hasMachine(name: string): boolean {
    return this.#machines.has(name);
  }

  certify(machine: string, uris: readonly string[]): void {
    this.#uris.set(machine, [...uris]);
  }

  urisOf(machine: string): readonly string[] {
    return this.#uris.get(machine) ?? [];
  }

  link(from: string, to: string): Link {
    const key = `${from}>${to}`;
    const existing = this.#links.get(key);
    if (existing !== undefined) return existing;
    const link = new Link({ from, to }, this.#random, from === to ? calmLink : this.#profile);
    this.#links.set(key, link);
    return link;
  }

  adjust(profile: Partial<LinkProfile>): void {
    this.#profile = { ...this.#profile, ...profile };
    for (const link of this.#links.values()) {
      if (link.from !== link.to) link.profile = { ...link.profile, ...profile };
    }
  }

  adjustLink(from: string, to: string, profile: Partial<LinkProfile>): void {
    const link = this.link(from, to);
    link.profile = { ...link.profile, ...profile };
  }

  block(from: readonly string[], to: readonly string[]): void {
    for (const link of this.#linksBetween(from, to)) link.block();
  }

  unblock(from: readonly string[], to: readonly string[]): void {
    for (const link of this.#linksBetween(from, to)) link.unblock();
  }

  partition(left: readonly string[], right: readonly string[]): void {
    this.block(left, right);
    this.block(right, left);
  }

  heal(): void {
    for (const link of this.#links.values()) link.unblock();
  }

  resetConnections(isWanted: (from: string, to: string) => boolean): void {
    for (const [connection, life] of this.#connections) {
      if (isWanted(life.nodeName, connection.remote.host)) connection.cut();
    }
  }

  /** Sides of connections that a process holds. After a clean stop there are none. */
  connectionsCount(life: ProcessLife): number {
    return [...this.#connections.values()].filter((owner) => owner === life).length;
  }

  freePort(): number {
    this.#lastPort = this.#lastPort >= 65_535 ? 49_152 : this.#lastPort + 1;
    return this.#lastPort;
  }

  track(connection: SimConnection, life: ProcessLife): void {
    this.#connections.set(connection, life);
    void connection.closed.then(() => this.#connections.delete(connection));
  }

  /** The process is gone but its machine is not: the system closes what it held. */
  endProcess(life: ProcessLife): void {
    this.#endListeners(life);
    for (const connection of this.#take(life)) {
      connection.kill(this.#random.float() < 0.5 ? 'end' : 'reset');
    }
  }

  /** The machine is without power. */
  powerOff(machine: string, life: ProcessLife | undefined): void {
    if (life !== undefined) {
      this.#endListeners(life);
      for (const connection of this.#take(life)) connection.vanish();
    }
    for (const link of this.#linksOf(machine)) link.machineDown();
  }

  powerOn(machine: string): void {
    for (const link of this.#linksOf(machine)) link.machineUp();
  }

  #take(life: ProcessLife): readonly SimConnection[] {
    const taken: SimConnection[] = [];
    for (const [connection, owner] of this.#connections) if (owner === life) taken.push(connection);
    for (const connection of taken) this.#connections.delete(connection);
    return taken;
  }

  #endListeners(life: ProcessLife): void {
    for (const [key, listener] of this.listeners) {
      if (listener.life === life) this.listeners.delete(key);
    }
  }

  #linksBetween(from: readonly string[], to: readonly string[]): readonly Link[] {
    return from.flatMap((source) =>
      to.filter((target) => target !== source).map((target) => this.link(source, target)),
    );
  }

  /** Created here if they were not used yet, so that their power state is right from the start. */
  #linksOf(machine: string): readonly Link[] {
    const others = [...this.#machines].filter((other) => other !== machine);
    return others.flatMap((other) => [this.link(machine, other), this.link(other, machine)]);
  }
}
