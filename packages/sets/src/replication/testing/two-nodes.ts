// Nodes of sets on simulated machines, over a mesh in memory whose links a test opens and closes.
import type { Files } from '@syncline/kernel';
import {
  type MessageLink,
  type SimNode,
  type SimPorts,
  Simulation,
} from '@syncline/kernel/testing';
import { SmallDisk } from '../../engine/testing/small-disk.js';
import { openSets } from '../../local-sets.js';
import type { Sets, SetsOptions } from '../../sets.js';
import { FakeMesh, type FakeMessage } from '../../testing/fake-mesh.js';

export interface NodeChoices extends Partial<Omit<SetsOptions, 'nodeId' | 'clusterId'>> {
  /** Nothing is stored. */
  readonly inMemory?: boolean;
}

export class Nodes {
  readonly simulation: Simulation;
  readonly ports = new Map<number, SimPorts>();
  /** The disks of running nodes. They have space, unless a test takes it away. */
  readonly disks = new Map<number, SmallDisk>();
  readonly #nodes = new Map<number, SimNode>();
  readonly #sets = new Map<number, Sets>();
  readonly #meshes = new Map<number, FakeMesh>();
  readonly #links = new Map<string, MessageLink<FakeMessage>>();

  constructor(seed: number, ids: readonly number[], choices: NodeChoices = {}) {
    this.simulation = new Simulation({ seed });
    for (const id of ids) {
      const peers = ids.filter((peer) => peer !== id);
      const boot = async (ports: SimPorts) => {
        const { clock, random } = ports;
        const send = (peer: number, message: FakeMessage) => this.#link(id, peer).send(message);
        const mesh = new FakeMesh({ clock, random, send }, { nodeId: id, peers, pendingMax: 100 });
        this.ports.set(id, ports);
        this.#meshes.set(id, mesh);
        this.#sets.delete(id);
        const disk = new SmallDisk(ports.files);
        this.disks.set(id, disk);
        const files: Files | undefined = choices.inMemory === true ? undefined : disk;
        const options = { ...choices, nodeId: id, clusterId: 'test' };
        this.#sets.set(id, await openSets({ ...ports, files, mesh }, options));
      };
      this.#nodes.set(id, this.simulation.addNode(`n${id}`, boot));
    }
  }

  machine(id: number): SimNode {
    const node = this.#nodes.get(id);
    if (node === undefined) throw new Error(`there is no node ${id}`);
    return node;
  }

  /** Undefined while it starts. */
  find(id: number): Sets | undefined {
    return this.#sets.get(id);
  }

  sets(id: number): Sets {
    const sets = this.find(id);
    if (sets === undefined) throw new Error(`node ${id} is not running`);
    return sets;
  }

  /** Starts them, and waits until each has compared itself with another one. */
  async start(...ids: readonly number[]): Promise<void> {
    for (const id of ids) {
      this.#sets.delete(id);
      this.machine(id).start();
    }
    await this.until(() => ids.every((id) => this.find(id) !== undefined));
  }

  async until(condition: () => boolean): Promise<void> {
    for (let tries = 0; !condition(); tries += 1) {
      if (tries > 10_000) throw new Error('it did not happen in time');
      await this.simulation.clock.sleep(5);
    }
  }

  /** Waits until all of them show the same. */
  converged(...ids: readonly number[]): Promise<void> {
    return this.until(() => new Set(ids.map((id) => this.digest(id))).size === 1);
  }

  digest(id: number): string {
    const { version, liveDots, xor } = this.sets(id).digest();
    return `${version.toString()} ${liveDots} ${xor.join()}`;
  }

  async add(id: number, ...members: readonly string[]): Promise<void> {
    await this.sets(id).add(
      Buffer.from('set'),
      members.map((member) => Buffer.from(member)),
    );
  }

  async remove(id: number, ...members: readonly string[]): Promise<void> {
    await this.sets(id).remove(
      Buffer.from('set'),
      members.map((member) => Buffer.from(member)),
    );
  }

  async members(id: number): Promise<readonly string[]> {
    const found: string[] = [];
    for await (const member of this.sets(id).members(Buffer.from('set')))
      found.push(Buffer.from(member).toString());
    return found.toSorted();
  }

  /** Stops a node cleanly; returns the content of its disk. */
  async stop(id: number): Promise<ReadonlyMap<string, Uint8Array>> {
    await this.sets(id).close();
    const { files } = this.ports.get(id) ?? {};
    const copy = new Map<string, Uint8Array>();
    for (const directory of ['log', 'checkpoint', ''])
      for (const name of (await files?.list(directory === '' ? '.' : directory)) ?? []) {
        const path = directory === '' ? name : `${directory}/${name}`;
        if (!/\.(log|ckpt)$|^identity$/.test(path)) continue;
        const { bytes = 0 } = (await files?.stat(path)) ?? {};
        if (files !== undefined) copy.set(path, await files.readAt(path, 0, bytes));
      }
    return copy;
  }

  /** Restores what an earlier stop has left. The node must be stopped, and stays down. */
  async restore(id: number, copy: ReadonlyMap<string, Uint8Array>): Promise<void> {
    const { files } = this.ports.get(id) ?? {};
    for (const [path, bytes] of copy) {
      await files?.remove(path);
      await files?.append(path, bytes);
      await files?.sync(path);
    }
    this.machine(id).kill();
  }

  cut(from: number, to: number): void {
    this.simulation.network.block([`n${from}`], [`n${to}`]);
    this.simulation.network.block([`n${to}`], [`n${from}`]);
  }

  heal(): void {
    this.simulation.network.heal();
  }

  #link(from: number, to: number): MessageLink<FakeMessage> {
    const key = `${from}>${to}`;
    const link =
      this.#links.get(key) ??
      this.simulation.messageLink<FakeMessage>(this.machine(from), this.machine(to), (message) =>
        this.#meshes.get(to)?.receive(from, message),
      );
    this.#links.set(key, link);
    return link;
  }
}
