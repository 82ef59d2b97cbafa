// The process of the node: the real sets over the simulated disk, with clients in front. Before it starts,
// what the disk holds is compared with what was written; once it has started, what it shows is, too.
import { assert, type Metrics, type Storage, SynclineError } from '@syncline/kernel';
import type { SeededRandom, SimPorts } from '@syncline/kernel/testing';
import type { openSets, Sets } from '@syncline/sets';
import { checkSerialOrder } from './checks/serial-order.js';
import { digestKeyOf, digestText, hexWord } from './digest-text.js';
import { SetClient } from './set-client.js';
import type { LifeEnd, SetsHistory } from './sets-history.js';
import type { SetsPlan } from './sets-plan.js';
import { type SetsStep, versionText } from './sets-step.js';
import { readStored } from './stored-sets.js';
import { ToldDurability } from './told-durability.js';
import { WatchedStorage } from './watched-storage.js';

const CLUSTER_ID = 'sim';
const DIGEST_KEY = digestKeyOf(CLUSTER_ID);
/** How long a node with a failed disk may go on, to be read from. */
const FAILED_MS_MAX = 500;
const LOOK_MS = 100;

export interface SetsProcessDeps {
  readonly ports: SimPorts;
  readonly history: SetsHistory;
  readonly plan: SetsPlan;
  readonly random: SeededRandom;
  readonly open: typeof openSets;
  readonly isLoading: () => boolean;
  /** How the life before has ended. Asked once, when the disk was read. */
  readonly takeEnd: () => LifeEnd;
}

export class SetsProcess {
  readonly #deps: SetsProcessDeps;
  readonly #sets: Sets;
  readonly #storage: Storage;
  readonly #told: ToldDurability;
  #isStopping = false;

  private constructor(deps: SetsProcessDeps, sets: Sets, storage: Storage, told: ToldDurability) {
    this.#deps = deps;
    this.#sets = sets;
    this.#storage = storage;
    this.#told = told;
  }

  static async start(deps: SetsProcessDeps): Promise<SetsProcess> {
    const { ports, history, plan } = deps;
    const { chaos } = ports;
    const inner = await ports.openStorage('sets');
    await inner.whenReadable();
    const stored = await readStored(inner, DIGEST_KEY);
    checkSerialOrder(history.life, DIGEST_KEY);
    const { step, lost } = history.recover(stored, deps.takeEnd());
    if (lost > 0) chaos.probe('sets/lost-a-suffix');
    if (stored.journal.size > 0) chaos.probe('sets/journal-found');
    const told = new ToldDurability(plan.durability);
    const storage = new WatchedStorage({
      inner,
      history,
      durability: () => told.now,
      onFailed: (isFull) => chaos.probe(isFull ? 'sets/refused' : 'sets/failed'),
    });
    const sets = await openOrExplain(deps, storage);
    const process = new SetsProcess(deps, sets, storage, told);
    checkShown(sets, step);
    for (let client = 0; client < plan.clientsCount; client += 1) void process.#runClient(client);
    void process.#endInTime();
    return process;
  }

  /** It runs, and will not end by itself. */
  get isServing(): boolean {
    return !this.#isStopping && this.#sets.status().health !== 'failed';
  }

  /** An orderly stop, after which the disk must tell the whole story by itself. */
  async finish(): Promise<void> {
    const { history } = this.#deps;
    this.#isStopping = true;
    await this.#sets.close();
    checkSerialOrder(history.life, DIGEST_KEY);
    const last = history.storedNumber;
    const stored = await readStored(this.#storage, DIGEST_KEY);
    assert(
      stored.foldNumber === last && stored.journal.size === 0,
      `S6: a clean stop folds up to record ${last}, not ${stored.foldNumber}`,
    );
    history.recover(stored, 'kill');
  }

  #runClient(index: number): Promise<void> {
    const { ports, history, plan, random, isLoading } = this.#deps;
    const client = new SetClient(
      {
        sets: this.#sets,
        life: history.life,
        clock: ports.clock,
        random: random.fork(`client/${index}`),
        onSent: (command) => this.#told.sent(command),
        onAnswered: (sent) => this.#told.answered(sent),
      },
      plan,
    );
    return client.run(isLoading);
  }

  /** Stops cleanly after a while, in runs with such stops; and ends a process whose disk has failed. */
  async #endInTime(): Promise<void> {
    const { ports, plan, random, isLoading } = this.#deps;
    const { clock } = ports;
    const chance = random.fork('end');
    const stopMs = clock.monotonicMs() - plan.stopAfterMs * Math.log(1 - chance.float());
    while (!this.#isStopping) {
      await clock.sleep(LOOK_MS * chance.float());
      if (this.#sets.status().health === 'failed') {
        await clock.sleep(FAILED_MS_MAX * chance.float());
        return ports.exit('the disk has failed');
      }
      if (clock.monotonicMs() < stopMs || !isLoading()) continue;
      this.#isStopping = true;
      await this.#sets.close();
      ports.chaos.probe('sets/stopped');
      ports.exit('stopped');
    }
  }
}

/** Damage that only the process itself can have done must not end in starting again and again. */
async function openOrExplain(deps: SetsProcessDeps, storage: Storage): Promise<Sets> {
  const { ports, plan, open } = deps;
  const { durability, cacheBytesMax } = plan;
  try {
    return await open(
      { ...ports, metrics: probing(ports), storage },
      { nodeId: 1, clusterId: CLUSTER_ID, durability, cacheBytesMax },
    );
  } catch (thrown) {
    const isDamage = thrown instanceof SynclineError && thrown.code === 'corrupt';
    if (isDamage) assert(false, `S6: what was written cannot be read again: ${thrown.message}`);
    throw thrown;
  }
}

function probing({ metrics, chaos }: SimPorts): Metrics {
  return {
    ...metrics,
    add: (name) => {
      if (name === 'syncline_sets_journal_cut_total') chaos.probe('sets/journal-cut');
    },
  };
}

function checkShown(sets: Sets, step: SetsStep): void {
  const { version, liveDots, xor } = sets.digest();
  const found = `${String(version)} ${liveDots} ${xor.map(hexWord).join('')}`;
  const expected = `${versionText(step)} ${digestText(step.content.values(), DIGEST_KEY)}`;
  assert(found === expected, `S6: a start shows ${found}, the disk holds ${expected}`);
}
