// The process of the node: the real sets over the simulated disk, with clients in front. Before it starts, what the
// disk holds is compared with what was written; once it has started, what it shows is, too.
import { assert, type Durability, type Metrics, SynclineError } from '@syncline/kernel';
import type { SeededRandom, SimPorts } from '@syncline/kernel/testing';
import type { openSets, Sets, SetsOptions } from '@syncline/sets';
import { createOrderKeys, readStoredPlainly, type StoredSets } from '@syncline/sets/testing';
import { BusyClock } from './busy-clock.js';
import { checkSerialOrder } from './serial-order.js';
import { runClient, type SetClientOptions, ToldDurability } from './set-client.js';
import type { LifeEnd, SetsHistory } from './sets-history.js';
import { WatchedFiles } from './watched-files.js';

const OWNER = { nodeId: 1, clusterId: 'sim' };
const KEYS = createOrderKeys(OWNER.clusterId);
/** How long a node with a failed disk may go on, to be read from. */
const FAILED_MS_MAX = 500;
const LOOK_MS = 100;

/** What a seed makes of the node and its clients. */
export interface SetsPlan extends SetClientOptions {
  readonly durability: Durability;
  readonly limits: NonNullable<SetsOptions['limits']>;
  readonly serveWhileLoading: boolean;
  /** How long a turn of the event loop takes, at most. */
  readonly turnMsMax: number;
  readonly clientsCount: number;
  /** From a start to an orderly stop, on average; infinite in runs without any. */
  readonly stopAfterMs: number;
}

export interface SetsProcessDeps {
  readonly ports: SimPorts;
  readonly history: SetsHistory;
  readonly plan: SetsPlan;
  readonly random: SeededRandom;
  readonly open: typeof openSets;
  readonly isAlive: () => boolean;
  /** False when nothing more is to be done. */
  readonly isWanted: () => boolean;
  /** How the life before has ended. Asked once, when the disk was read. */
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
    const lost = history.recover(stored, deps.takeEnd());
    if (lost > 0) chaos.probe('sets/lost-a-suffix');
    const clock = new BusyClock(ports.clock, random.fork('turns'), plan.turnMsMax);
    const files = new WatchedFiles({
      inner: ports.files,
      history,
      onTrouble: (kind) => chaos.probe(`sets/${kind}`),
    });
    const { durability, limits, serveWhileLoading } = plan;
    const sets = await orExplain(() =>
      deps.open(
        { ...ports, clock, metrics: probing(ports), files },
        { ...OWNER, durability, limits, serveWhileLoading },
      ),
    );
    const process = new SetsProcess(deps, sets);
    const loaded = orExplain(() => sets.loaded).then(() => process.#checkShown());
    if (!serveWhileLoading) await loaded;
    const told = new ToldDurability(durability);
    for (let client = 0; client < plan.clientsCount; client += 1)
      void process.#runClient(random.fork(`client/${client}`), told);
    await loaded;
    void process.#endInTime();
    return process;
  }

  /** It runs, and will not end by itself. */
  get isServing(): boolean {
    return !this.#isStopping && this.#sets.status().health !== 'failed';
  }

  /** An orderly stop, after which the disk must tell the whole story by itself. */
  async finish(): Promise<void> {
    const { ports, history } = this.#deps;
    this.#isStopping = true;
    await this.#sets.close();
    checkSerialOrder(history.life, KEYS);
    const stored = await readStored(ports);
    assert(stored?.identity.state === 'clean', 'S6: a stop on a healthy disk is clean');
    const lost = history.recover(stored, 'kill');
    assert(lost === 0, `S6: an orderly stop has lost ${lost} records`);
  }

  #runClient(random: SeededRandom, told: ToldDurability): Promise<void> {
    const { ports, history, plan, isAlive, isWanted } = this.#deps;
    return runClient(
      {
        sets: this.#sets,
        history,
        clock: ports.clock,
        random,
        told,
        isAlive,
        isWanted: () => isWanted() && !this.#isStopping,
        onCut: () => ports.chaos.probe('sets/cut'),
      },
      plan,
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

  /** Stops cleanly after a while, in runs with such stops; and ends a process whose disk has failed. */
  async #endInTime(): Promise<void> {
    const { ports, plan, random, isWanted } = this.#deps;
    const { clock } = ports;
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
      ports.chaos.probe('sets/stopped');
      ports.exit('stopped');
    }
  }
}

async function readStored({ files, chaos }: SimPorts): Promise<StoredSets | undefined> {
  const stored = await orExplain(() => readStoredPlainly(files, OWNER));
  if (stored === undefined) return undefined;
  if (stored.checkpointNumber > 0 && stored.logRecords > 0) chaos.probe('sets/checkpoint-and-log');
  const names = await files.list('checkpoint');
  if (names.some((name) => name.endsWith('.tmp'))) chaos.probe('sets/half-a-checkpoint');
  const segments = (await files.list('log')).filter((name) => name.endsWith('.log'));
  if (segments.length > 1) chaos.probe('sets/several-segments');
  return stored;
}

/** Damage that only the process itself can have done must not end in starting again and again. */
async function orExplain<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (thrown) {
    const isDamage = thrown instanceof SynclineError && thrown.code === 'corrupt';
    if (isDamage) assert(false, `S6: what was written cannot be read again: ${thrown.message}`);
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
