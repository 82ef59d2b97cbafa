// The process of the node: the real sets over the simulated disk, with clients in front. Before it starts, the
// content of the disk is compared with what was written; once it has started, so is what it shows.
import { assert, type Durability, type Metrics, SynclineError } from '@syncline/kernel';
import type { SeededRandom, SimPorts } from '@syncline/kernel/testing';
import type { openSets, Sets, SetsOptions } from '@syncline/sets';
import { createOrderKeys, readStoredPlainly, type StoredSets } from '@syncline/sets/testing';
import { createBusyClock } from './busy-clock.js';
import { checkSerialOrder } from './serial-order.js';
import { runClient, type SetClientOptions } from './set-client.js';
import type { LifeEnd, SetsHistory } from './sets-history.js';
import { watchFiles } from './watched-files.js';

const OWNER = { nodeId: 1, clusterId: 'sim' };
const KEYS = createOrderKeys(OWNER.clusterId);
/** How long a node with a failed disk stays up, so that it can be read. */
const FAILED_MS_MAX = 500;
const LOOK_MS = 100;

/** The settings of the node and its clients for a seed. */
export interface SetsPlan extends SetClientOptions {
  readonly durability: Durability;
  readonly limits: NonNullable<SetsOptions['limits']>;
  readonly serveWhileLoading: boolean;
  /** How long a turn of the event loop takes, at most. */
  readonly turnMsMax: number;
  readonly clientsCount: number;
  /** Average time from a start to a clean stop; infinite in runs without clean stops. */
  readonly stopAfterMs: number;
}

export interface SetsProcessDeps {
  readonly ports: SimPorts;
  readonly history: SetsHistory;
  readonly plan: SetsPlan;
  readonly random: SeededRandom;
  readonly open: typeof openSets;
  readonly isAlive: () => boolean;
  /** False once nothing more is to be done. */
  readonly isWanted: () => boolean;
  /** How the previous process ended. Called once, when the disk has been read. */
  readonly takeEnd: () => LifeEnd;
}

export class SetsProcess {
  readonly #deps: SetsProcessDeps;
  readonly #sets: Sets;
  #isStopping = false;

  private constructor(deps: SetsProcessDeps, sets: Sets) {
    this.#deps = deps;
    this.#sets = sets;
  }

  static async start(deps: SetsProcessDeps): Promise<SetsProcess> {
    const { ports, history, plan, random } = deps;
    const { chaos } = ports;
    const stored = await readStored(ports);
    checkSerialOrder(history.life, KEYS);
    if (history.recover(stored, deps.takeEnd()) > 0) chaos.probe('sets/lost-a-suffix');
    const clock = createBusyClock(ports.clock, random.fork('turns'), plan.turnMsMax);
    const onTrouble = (kind: string) => chaos.probe(`sets/${kind}`);
    const files = watchFiles({ files: ports.files, history, onTrouble });
    const onBug = (thrown: unknown) => void Promise.reject(thrown); // unhandled: the run fails
    const setsDeps = { ...ports, clock, files, metrics: probing(ports), onBug };
    const sets = await orExplain(() => deps.open(setsDeps, { ...OWNER, ...plan }));
    const process = new SetsProcess(deps, sets);
    const loaded = orExplain(() => sets.loaded).then(() => process.#checkShown());
    if (!plan.serveWhileLoading) await loaded;
    for (let client = 0; client < plan.clientsCount; client += 1) void process.#runClient(client);
    await loaded;
    void process.#endInTime();
    return process;
  }

  /** Whether it runs and will not end by itself. */
  get isServing(): boolean {
    return !this.#isStopping && this.#sets.status().health !== 'failed';
  }

  /** One more write and a clean stop; afterwards the disk must hold everything. */
  async finish(): Promise<void> {
    const { ports, history } = this.#deps;
    const sent = history.sending({ words: [['SADD', 'a', 'p']], isTransaction: false });
    history.life.connections.push([sent]);
    await this.#sets.add(Buffer.from('a'), [Buffer.from('p')]);
    this.#isStopping = true;
    await this.#sets.close();
    checkSerialOrder(history.life, KEYS);
    const stored = await readStored(ports);
    assert(stored?.identity.state === 'clean', 'S6: a stop on a healthy disk is clean');
    const lost = history.recover(stored, 'kill');
    assert(lost === 0, `S6: a clean stop has lost ${lost} records`);
  }

  #runClient(index: number): Promise<void> {
    const { ports, random, plan, isWanted } = this.#deps;
    return runClient(
      {
        ...this.#deps,
        sets: this.#sets,
        clock: ports.clock,
        random: random.fork(`client/${index}`),
        isWanted: () => isWanted() && !this.#isStopping,
      },
      { ...plan, switchPart: index === 0 ? plan.switchPart : 0 }, // so that the last one is known
    );
  }

  #checkShown(): void {
    const { history } = this.#deps;
    const { version, liveDots, xor } = this.#sets.digest();
    const [step] = history.life.steps;
    const shown = `${String(version)} ${liveDots}:${xor.join(':')}`;
    const expected = `${String(step?.sets.version)} ${step?.sets.digest(KEYS)}`;
    assert(shown === expected, `S6: a start shows ${shown}, the disk holds ${expected}`);
    const words = xor.map((word) => word.toString(16).padStart(8, '0'));
    history.shown(String(version), `${liveDots} ${words.join('')}`);
    history.started();
  }

  /** Stops cleanly after a while, in runs with clean stops; and ends a process whose disk has failed. */
  async #endInTime(): Promise<void> {
    const { ports, plan, random, isWanted } = this.#deps;
    const { clock, chaos } = ports;
    const chance = random.fork('end');
    const stopMs = clock.monotonicMs() - plan.stopAfterMs * Math.log(1 - chance.float());
    while (!this.#isStopping) {
      await clock.sleep(LOOK_MS * chance.float());
      if (this.#sets.status().health === 'failed') {
        await clock.sleep(FAILED_MS_MAX * chance.float());
        return ports.exit('the disk has failed');
      }
      if (clock.monotonicMs() < stopMs || !isWanted()) continue;
      this.#isStopping = true;
      await this.#sets.close();
      chaos.probe('sets/stopped');
      ports.exit('stopped');
    }
  }
}

async function readStored({ files, chaos }: SimPorts): Promise<StoredSets | undefined> {
  const stored = await orExplain(() => readStoredPlainly(files, OWNER));
  if (stored === undefined) return undefined;
  if (stored.checkpointNumber > 0 && stored.logRecords > 0) chaos.probe('sets/checkpoint-and-log');
  const [checkpoints, logs] = [await files.list('checkpoint'), await files.list('log')];
  if (checkpoints.some((name) => name.endsWith('.tmp'))) chaos.probe('sets/half-a-checkpoint');
  if (logs.filter((name) => name.endsWith('.log')).length > 1) chaos.probe('sets/several-segments');
  return stored;
}

/** Damage that only the process itself can have caused must not lead to restarting forever. */
async function orExplain<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (thrown) {
    const isDamage = thrown instanceof SynclineError && thrown.code === 'corrupt';
    if (isDamage) assert(false, `S6: what was written cannot be read back: ${thrown.message}`);
    throw thrown;
  }
}

function probing({ metrics, chaos }: SimPorts): Metrics {
  return {
    ...metrics,
    add: (name, amount = 1) => {
      if (name === 'syncline_sets_log_cut_bytes_total' && amount > 0) chaos.probe('sets/log-cut');
    },
    set: (name, value) => {
      if (name === 'syncline_sets_pin_entries' && value > 0) chaos.probe('sets/pinned');
    },
  };
}
