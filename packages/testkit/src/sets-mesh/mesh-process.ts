// One node of the cluster: the real sets on the real mesh, over a simulated disk and network, with one client in
// front that sends a command, waits for the reply, and looks at the digest now and then.
import { type ActorId, assert, type Durability } from '@syncline/kernel';
import type { SeededRandom, SimPorts } from '@syncline/kernel/testing';
import type { createMesh, MeshOptions } from '@syncline/mesh';
import type { openSets, Sets, SetsOptions } from '@syncline/sets';
import { encodeCommand, RespReplies, type RespReply } from '@syncline/sets/testing';
import { createBusyClock } from '../sets-node/busy-clock.js';
import { RandomCommands } from '../sets-node/random-commands.js';
import { watchLog } from './logged-files.js';
import type { MeshHistory } from './mesh-history.js';

export const CLUSTER_ID = 'sim';
const MESH_PORT = 7403;
/** How often a node is asked what it holds, besides its commands. */
const DIGEST_PART = 0.3;
const FAILED_MS_MAX = 500;
const LOOK_MS = 200;

export interface MeshPlan {
  readonly nodes: number;
  readonly durability: Durability;
  readonly limits: NonNullable<SetsOptions['limits']>;
  readonly antiEntropyIntervalMs: number;
  readonly mesh: Partial<MeshOptions>;
  readonly turnMsMax: number;
  readonly betweenMsMax: number;
  readonly isLarge: boolean;
}

export interface MeshCode {
  readonly createMesh: typeof createMesh;
  readonly openSets: typeof openSets;
}

export interface MeshProcessDeps {
  readonly ports: SimPorts;
  readonly nodeId: number;
  readonly plan: MeshPlan;
  readonly code: MeshCode;
  readonly history: MeshHistory;
  readonly random: SeededRandom;
  readonly isAlive: () => boolean;
  /** False when clients are to stop. */
  readonly isWanted: () => boolean;
}

export function nodeName(nodeId: number): string {
  return `n${nodeId}`;
}

export class MeshProcess {
  readonly #deps: MeshProcessDeps;
  readonly #sets: Sets;
  readonly #client: Client;

  private constructor(deps: MeshProcessDeps, sets: Sets) {
    this.#deps = deps;
    this.#sets = sets;
    this.#client = new Client(sets, deps.isAlive);
  }

  static async start(deps: MeshProcessDeps): Promise<MeshProcess> {
    const { ports, nodeId, plan, code, history, random } = deps;
    const clock = createBusyClock(ports.clock, random.fork('turns'), plan.turnMsMax);
    const files = watchLog(ports.files, nodeId, history);
    const ids = Array.from({ length: plan.nodes }, (_, index) => index + 1);
    const peers = ids.map((id) => ({ nodeId: id, host: nodeName(id), port: MESH_PORT }));
    const mesh = code.createMesh(
      { ...ports, clock },
      { nodeId, clusterId: CLUSTER_ID, peers, secret: 'secret', ...plan.mesh },
    );
    await ports.network.listen({ host: nodeName(nodeId), port: MESH_PORT }, (connection) =>
      mesh.accept(connection),
    );
    const onBug = (thrown: unknown) => void Promise.reject(thrown); // unhandled: the run fails
    const sets = await code.openSets(
      { ...ports, clock, files, mesh, onBug },
      {
        nodeId,
        clusterId: CLUSTER_ID,
        durability: plan.durability,
        limits: plan.limits,
        pullIntervalMs: plan.antiEntropyIntervalMs,
      },
    );
    const process = new MeshProcess(deps, sets);
    void process.#runClient();
    void process.#exitWhenFailed();
    return process;
  }

  get sets(): Sets {
    return this.#sets;
  }

  /** For whom it makes dots. */
  get actor(): ActorId | undefined {
    return this.#sets
      .version()
      .entries()
      .find(({ actor }) => actor >>> 16 === this.#deps.nodeId && (actor & 0xffff) === this.#epoch)
      ?.actor;
  }

  get #epoch(): number {
    return this.#sets.status().epoch;
  }

  /** What it holds, as text; it is checked against the history. */
  async digest(): Promise<string | undefined> {
    const reply = await this.#client.send(['SYNCLINE.DIGEST']);
    if (reply === undefined || reply.type === '-') return undefined;
    const [version = '', dots = '', xor = ''] = (reply.items ?? []).map(({ text }) => text ?? '');
    const digest = `${dots} ${xor}`;
    this.#deps.history.shown(nodeName(this.#deps.nodeId), version, digest);
    return `${version} ${digest}`;
  }

  /** A write that must work, since nothing is wrong any more. */
  async write(member: string): Promise<boolean> {
    const reply = await this.#client.send(['SADD', 'a', member]);
    return reply?.type === ':';
  }

  async #runClient(): Promise<void> {
    const { ports, random, plan, isAlive, isWanted } = this.#deps;
    const chance = random.fork('client');
    const commands = new RandomCommands(chance, {
      isLarge: plan.isLarge,
      switchPart: 0,
      savePart: 0.02,
    });
    while (isWanted() && isAlive()) {
      await ports.clock.sleep(chance.float() ** 3 * plan.betweenMsMax);
      const { words, isTransaction } = commands.next();
      const all = isTransaction ? [['MULTI'], ...words, ['EXEC']] : words;
      let reply: RespReply | undefined;
      for (const each of all) reply = await this.#client.send(each);
      if (reply === undefined || !isAlive()) return;
      if (reply.type !== '-') this.#noteAcknowledged();
      if (chance.float() < DIGEST_PART) await this.digest();
    }
  }

  /** One command at a time is sent, so everything of our own is answered. */
  #noteAcknowledged(): void {
    const { actor } = this;
    if (actor !== undefined)
      this.#deps.history.acknowledged(actor, this.#sets.version().counterOf(actor));
  }

  /** A node whose disk has failed serves reads for a while, then somebody restarts it. */
  async #exitWhenFailed(): Promise<void> {
    const { ports, random, isAlive } = this.#deps;
    while (isAlive()) {
      await ports.clock.sleep(LOOK_MS);
      if (this.#sets.status().health !== 'failed') continue;
      this.#deps.history.mayLose(this.actor);
      await ports.clock.sleep(FAILED_MS_MAX * random.float());
      return ports.exit('the disk has failed');
    }
  }
}

/** A session without a socket: one command, one reply. */
class Client {
  readonly #sets: Sets;
  readonly #isAlive: () => boolean;
  #session: ReturnType<Sets['connect']> | undefined;
  #replies = new RespReplies();
  #waiting: ((reply: RespReply | undefined) => void)[] = [];

  constructor(sets: Sets, isAlive: () => boolean) {
    this.#sets = sets;
    this.#isAlive = isAlive;
  }

  /** Undefined when the connection has ended. */
  send(words: readonly string[]): Promise<RespReply | undefined> {
    const session = this.#session ?? this.#connect();
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      void session.push(encodeCommand(words));
    });
  }

  #connect(): ReturnType<Sets['connect']> {
    const gone = new AbortController();
    const end = () => {
      this.#session = undefined;
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const resolve of waiting) resolve(undefined);
    };
    const session = this.#sets.connect({
      address: { host: '127.0.0.1', port: 1 },
      loopback: true,
      gone: gone.signal,
      cut: () => {
        gone.abort();
        end();
      },
    });
    this.#replies = new RespReplies();
    session.writeTo({
      write: (chunk) => {
        for (const reply of this.#isAlive() ? this.#replies.push(chunk) : []) {
          const resolve = this.#waiting.shift();
          assert(resolve !== undefined, 'a reply without a command');
          resolve(reply);
        }
        return true;
      },
      drained: () => Promise.resolve(),
      end,
    });
    this.#session = session;
    return session;
  }
}
