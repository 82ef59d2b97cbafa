// Random histories of an embedded store whose process is stopped, killed or loses its power, whose disk stalls, and
// which has tight limits: it compacts all the time and evicts jobs from memory. Its callers give up soon.
import { type Clock, type Storage, SynclineError } from '@syncline/kernel';
import {
  createSeededRandom,
  type SeededRandom,
  type SimNode,
  type SimPorts,
  Simulation,
} from '@syncline/kernel/testing';
import { describe, inject, test } from 'vitest';
import { impatientStore } from '../conformance/impatient-store.js';
import type { JobStoreSubject } from '../conformance/job-store-subject.js';
import { jobStoreSuite } from '../conformance/job-store-suite.js';
import type { JobStore } from '../job-store.js';
import { type EmbeddedJobStoreOptions, openEmbeddedJobStore } from './embedded-adapter.js';

declare module 'vitest' {
  interface ProvidedContext {
    jobsHistories: number;
  }
}

const LITTLE_ROOM: EmbeddedJobStoreOptions = {
  retentionRevisionsMax: 3,
  compactionKeysMax: 1,
  memoryRevisionsMax: 2,
  cacheBytesMax: 1,
  openSnapshotsMax: 2,
};
const OTHER_JOB_ID = 'other';
const COMPACTION_MS = 200;
const STALL_MS = 300;

/** A machine whose process can end in any way and is restarted on the same disk. */
class StoreMachine implements JobStoreSubject, AsyncDisposable {
  readonly clock: Clock;
  readonly #node: SimNode;
  readonly #random: SeededRandom;
  readonly #starts: SimPorts[] = [];
  #running: { readonly store: JobStore; readonly storage: Storage } | undefined;

  readonly #impatientShare: number;

  constructor(simulation: Simulation, name: string, impatientShare: number) {
    this.#impatientShare = impatientShare;
    this.clock = simulation.clock;
    this.#random = createSeededRandom(name);
    this.#node = simulation.addNode(name, (ports) => void this.#starts.push(ports));
  }

  get store(): JobStore {
    if (!this.#running) throw new Error('the machine was not started');
    return this.#running.store;
  }

  async start(): Promise<void> {
    this.#node.start();
    await this.clock.sleep(1);
    const ports = this.#starts.at(-1);
    if (!ports) throw new Error('the machine has not booted');
    const storage = await ports.openStorage('jobs');
    const store = await openEmbeddedJobStore({ ...ports, storage }, LITTLE_ROOM);
    await store.createJob({ jobId: OTHER_JOB_ID, numTasks: 1 });
    this.#running = { store: this.#hurried(store), storage };
  }

  /** A caller that gave up requests another job, so that the first may leave memory, and then tries again. */
  #hurried(store: JobStore): JobStore {
    return impatientStore(store, {
      clock: this.clock,
      random: this.#random,
      share: this.#impatientShare,
      patienceMs: 10,
      onAborted: async () => {
        await store.getJob(OTHER_JOB_ID);
        throw new SynclineError('timeout', 'the call was given up');
      },
    });
  }

  async restart(): Promise<void> {
    const draw = this.#random.float();
    if (draw < 0.3) await this.stop();
    else if (draw < 0.6) this.#node.kill();
    else this.#node.losePower();
    await this.start();
  }

  async stop(): Promise<void> {
    await this.#running?.store.close();
    await this.#running?.storage.close();
    this.#node.kill();
  }

  async stall(): Promise<void> {
    this.#node.pause();
    await this.clock.sleep(STALL_MS);
    this.#node.resume();
  }

  stepClock(ms: number): void {
    this.#node.clock.step(ms);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

describe('the embedded store under faults', () => {
  let simulation: Simulation;
  let machinesCount = 0;
  let impatientShare = 0;
  const cases = jobStoreSuite<StoreMachine>({
    name: 'embedded-hard',
    capabilities: { history: 'all', reads: 'linearizable', durability: 'synced', lost: 'store' },
    time: 'simulated',
    histories: Math.ceil(inject('jobsHistories') * 0.6),
    create: async () => {
      machinesCount += 1;
      const machine = new StoreMachine(simulation, `machine-${machinesCount}`, impatientShare);
      await machine.start();
      return machine;
    },
    faults: {
      restart: (machine) => machine.restart(),
      stall: (machine) => machine.stall(),
      stepClock: (machine, ms) => machine.stepClock(ms),
      compact: ({ clock }) => clock.sleep(COMPACTION_MS),
    },
  });
  for (const { name, run } of cases.filter((one) => /random history|compact/.test(one.name))) {
    test(name, async () => {
      machinesCount = 0;
      impatientShare = name.includes('random history') ? 0.2 : 0; // other cases make each call once
      simulation = new Simulation({ seed: name });
      await simulation.run(run);
    });
  }
});
