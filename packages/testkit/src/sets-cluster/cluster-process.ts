// One node of a cluster of sets: the real sets over a simulated disk, with a client, and over the real mesh or one that
// loses much.
import {
  assert,
  type Connection,
  type Durability,
  type Metrics,
  VersionVector,
} from '@syncline/kernel';
import type { SeededRandom, SimPorts } from '@syncline/kernel/testing';
import { type ChannelHandler, createMesh, type Mesh } from '@syncline/mesh';
import type { openSets, Sets, SetsOptions } from '@syncline/sets';
import { FakeMesh, type FakeMessage, parseVersion, Talk } from '@syncline/sets/testing';
import { createBusyClock } from '../sets-node/busy-clock.js';
import { CLUSTER_ID, type ClusterHistory } from './cluster-history.js';
import { LogContent, watchLog } from './watched-log.js';

export interface ClusterPlan {
  readonly durability: Durability;
  readonly nodeIds: readonly number[];
  readonly limits: NonNullable<SetsOptions['limits']>;
  readonly pullLimits: NonNullable<SetsOptions['pullLimits']>;
  readonly pullIntervalMs: number;
  /** `fake`: operations are never resent, so that pulls have work. */
  readonly mesh: 'fake' | 'real';
  readonly pendingMax: number;
  readonly ringBytesMax: number;
  readonly turnMsMax: number;
  readonly betweenMsMax: number;
  readonly membersCount: number;
  /** Members that the first node starts with, so that symbols are cheaper than a listing. */
  readonly preloadedCount: number;
  readonly runMs: number;
}

export interface ClusterProcessDeps {
  readonly nodeId: number;
  readonly ports: SimPorts;
  readonly plan: ClusterPlan;
  readonly history: ClusterHistory;
  readonly random: SeededRandom;
  readonly open: typeof openSets;
  send(peer: number, message: FakeMessage): void;
  isWanted(): boolean;
}

const SETS = ['a', 'b'];
const MESH_PORT = 7403;

export class ClusterProcess {
  readonly #mesh: Mesh;
  readonly #fakeMesh: FakeMesh | undefined;
  readonly #deps: ClusterProcessDeps;
  readonly #content = new LogContent();
  #sets: Sets | undefined;
  /** Asks for the digest. */
  #viewer: Talk | undefined;

  constructor(deps: ClusterProcessDeps) {
    this.#deps = deps;
    const { nodeId, ports, plan, random, send } = deps;
    if (plan.mesh === 'fake') {
      this.#fakeMesh = new FakeMesh(
        { clock: ports.clock, random: random.fork('mesh'), send },
        {
          nodeId,
          peers: plan.nodeIds.filter((id) => id !== nodeId),
          pendingMax: plan.pendingMax,
        },
      );
    }
    const peers = plan.nodeIds.map((id) => ({ nodeId: id, host: `n${id}`, port: MESH_PORT }));
    const { pendingMax: bufferSize, ringBytesMax } = plan;
    this.#mesh =
      this.#fakeMesh ??
      createMesh(ports, {
        ...{ nodeId, clusterId: CLUSTER_ID, peers, secret: 'secret' },
        ...{ bufferSize: Math.max(1, bufferSize), ringBytesMax },
      });
  }

  receive(peer: number, message: FakeMessage): void {
    this.#fakeMesh?.receive(peer, message);
  }

  async start(): Promise<void> {
    const { nodeId, ports, plan, history, random, open } = this.#deps;
    const clock = createBusyClock(ports.clock, random.fork('turns'), plan.turnMsMax);
    const files = watchLog(ports.files, this.#content, history);
    const onBug = (thrown: unknown) => void Promise.reject(thrown); // unhandled: the run fails
    const sets = await open(
      { ...ports, clock, files, mesh: this.#watchedMesh(), metrics: probing(ports), onBug },
      { ...plan, nodeId, clusterId: CLUSTER_ID },
    );
    // What was read is durable: the log was synced when it was opened.
    this.#content.appended.merge(sets.version());
    this.#content.synced.merge(sets.version());
    this.#sets = sets;
    if (this.#fakeMesh === undefined) void this.#listen();
    void this.#endIfFailed(sets);
    if (nodeId === plan.nodeIds[0] && plan.preloadedCount > 0 && sets.version().size === 0)
      void this.#preload(sets);
    void this.#runClient(sets);
  }

  async #listen(): Promise<void> {
    const { network } = this.#deps.ports;
    const accept = (connection: Connection) => this.#mesh.accept(connection);
    await network.listen({ host: '0.0.0.0', port: MESH_PORT }, accept);
  }

  /** Receives every version that the sets show to their peers. */
  #watchedMesh(): Mesh {
    const mesh = this.#mesh;
    const watched = (handler: ChannelHandler): ChannelHandler => ({
      appliedCounter: (actor) => handler.appliedCounter(actor),
      version: () => {
        const version = handler.version();
        this.#checkShown(version);
        return version;
      },
      deliver: (operation) => handler.deliver(operation),
      message: (peer, kind, body) => handler.message(peer, kind, body),
      peerUp: (peer, version) => handler.peerUp(peer, version),
      peerDown: (peer) => handler.peerDown(peer),
      pullWanted: (peer, reason) => handler.pullWanted(peer, reason),
    });
    return {
      channel: (name, handler) => mesh.channel(name, watched(handler)),
      open: (epoch) => mesh.open(epoch),
      changeEpoch: (epoch) => mesh.changeEpoch(epoch),
      accept: (connection) => mesh.accept(connection),
      firstContact: (signal) => mesh.firstContact(signal),
      peers: () => mesh.peers(),
      close: () => mesh.close(),
      [Symbol.asyncDispose]: () => mesh.close(),
    };
  }

  /** The digest it shows, checked; undefined while it cannot be read. */
  async shown(): Promise<string | undefined> {
    const sets = this.#sets;
    if (sets === undefined || sets.status().health === 'failed') return undefined;
    if (this.#viewer === undefined || this.#viewer.isGone) this.#viewer = new Talk(sets);
    const answer = await this.#viewer.ask('SYNCLINE.DIGEST').catch(() => '');
    const [, version = '', liveDots = '', xor = ''] =
      /^\*3\r\n\$\d+\r\n([^\r]*)\r\n:(\d+)\r\n\$16\r\n([0-9a-f]{16})\r\n$/.exec(answer) ?? [];
    if (version === '') return undefined;
    const digest = `${liveDots} ${xor}`;
    const { nodeName } = this.#deps.ports;
    this.#deps.history.check(nodeName, versionOf(version), digest);
    return `${version} ${digest}`;
  }

  version(): VersionVector {
    return this.#sets?.version() ?? new VersionVector();
  }

  async #preload(sets: Sets): Promise<void> {
    const { preloadedCount } = this.#deps.plan;
    const members = Array.from({ length: preloadedCount }, (_, n) => Buffer.from(`p${n}`));
    await sets.add(Buffer.from('a'), members).catch(() => undefined);
  }

  async #runClient(sets: Sets): Promise<void> {
    const { ports, plan, random, isWanted, history } = this.#deps;
    const chance = random.fork('client');
    let talk = new Talk(sets);
    while (isWanted()) {
      await ports.clock.sleep(chance.float() * plan.betweenMsMax);
      if (chance.float() < 0.15) await this.shown();
      if (talk.isGone) talk = new Talk(sets);
      const answer = await talk.ask(...this.#command(chance)).catch(() => '-gone');
      if (answer.startsWith('-LOADING')) ports.chaos.probe('sets-cluster/loading');
      if (answer.startsWith('-')) continue;
      const mine = await talk.ask('SYNCLINE.VV', 'MINE').catch(() => '-gone');
      const [, token = ''] = /^\$\d+\r\n([^\r]*)\r\n$/.exec(mine) ?? [];
      if (token.includes(':')) history.acknowledged.push(...versionOf(token).entries());
    }
  }

  #command(chance: SeededRandom): readonly string[] {
    const { membersCount, preloadedCount } = this.#deps.plan;
    const pick = <T>(list: readonly T[]): T => list[Math.floor(chance.float() * list.length)] as T;
    const member = () =>
      preloadedCount > 0 && chance.float() < 0.3
        ? `p${Math.floor(chance.float() * preloadedCount)}`
        : `m${Math.floor(chance.float() * membersCount)}`;
    const members = () => Array.from({ length: 1 + Math.floor(chance.float() * 3) }, member);
    const roll = chance.float();
    if (roll < 0.5) return ['SADD', pick(SETS), ...members()];
    if (roll < 0.8) return ['SREM', pick(SETS), ...members()];
    if (roll < 0.9) return ['SMOVE', pick(SETS), pick(SETS), member()];
    if (roll < 0.94) return ['SPOP', pick(SETS)];
    if (roll < 0.97) return ['BGSAVE'];
    return ['DEL', pick(SETS)];
  }

  /** Nothing is shown to peers that the disk could still lose, given the durability class. */
  #checkShown(version: VersionVector): void {
    const { plan, ports } = this.#deps;
    if (this.#sets === undefined) return;
    const stored = plan.durability === 'synced' ? this.#content.synced : this.#content.appended;
    if (stored.dominates(version)) return;
    const [shown, held] = [version.toString(), stored.toString()];
    assert(false, `S5: ${ports.nodeName} shows ${shown}, but ${held} is stored`);
  }

  async #endIfFailed(sets: Sets): Promise<void> {
    const { ports } = this.#deps;
    while (sets.status().health !== 'failed') await ports.clock.sleep(100);
    ports.exit('the disk has failed');
  }
}

function versionOf(text: string): VersionVector {
  const version = parseVersion(text);
  assert(typeof version !== 'string', `${text} is no version`);
  return version;
}

function probing({ metrics, chaos }: SimPorts): Metrics {
  return {
    ...metrics,
    add: (name, amount = 1, labels = {}) => {
      if (name === 'syncline_sets_pulls_total') chaos.probe(`sets-cluster/${labels['outcome']}`);
      if (name === 'syncline_sets_pull_symbols_total' && amount > 0)
        chaos.probe('sets-cluster/symbols');
      if (name === 'syncline_sets_pull_dots_total' && amount > 0)
        chaos.probe(`sets-cluster/${labels['kind']}`);
    },
  };
}
