// The disk of a simulated machine: its stores and its files. It outlives the processes that use it.
import { SynclineError } from '../../error.js';
import type { Files } from '../../files/files.js';
import type { SeededRandom } from '../../seeded-random.js';
import type { Storage } from '../../storage/storage.js';
import type { ProcessLife } from '../process-life.js';
import type { Scheduler } from '../scheduler.js';
import { DiskAccess } from './disk-access.js';
import { type DiskPlan, type DiskProfile, SeededDiskPlan } from './disk-plan.js';
import { FileTree } from './file-tree.js';
import { SimFiles } from './sim-files.js';
import { SimStorage } from './sim-storage.js';
import { StoreImage } from './store-image.js';

export interface SimDiskDeps {
  readonly scheduler: Scheduler;
  readonly random: SeededRandom;
  readonly wallMs: () => number;
}

export class SimDisk {
  readonly #deps: SimDiskDeps;
  readonly #stores = new Map<string, StoreImage>();
  readonly #tree = new FileTree();
  readonly #counter = { count: 0 };
  readonly #seededPlan: SeededDiskPlan;
  /** Replace it to decide about every single operation; see DiskPlan. */
  plan: DiskPlan;

  constructor(deps: SimDiskDeps) {
    this.#deps = deps;
    this.#seededPlan = new SeededDiskPlan(deps.random);
    this.plan = this.#seededPlan;
  }

  /** Operations begun so far. */
  get operationsCount(): number {
    return this.#counter.count;
  }

  /** Makes the disk slow, full or failing. Omitted fields keep their values. */
  adjust(profile: Partial<DiskProfile>): void {
    this.#seededPlan.profile = { ...this.#seededPlan.profile, ...profile };
  }

  /** `locked` while this process has it open already. */
  openStorage(name: string, life: ProcessLife): Promise<Storage> {
    const disk = this.#access(life);
    return disk.perform('open', name, () => {
      const image = this.#stores.get(name) ?? new StoreImage(name);
      this.#stores.set(name, image);
      if (image.holder !== undefined) throw lockedStore(name, image.holder);
      image.holder = life;
      return new SimStorage({ image, disk });
    });
  }

  openFiles(life: ProcessLife): Files {
    const disk = this.#access(life);
    return new SimFiles({ tree: this.#tree, disk, wallMs: this.#deps.wallMs });
  }

  /** The process has ended: everything that the disk had acknowledged is there. */
  endProcess(): void {
    for (const image of this.#stores.values()) {
      image.endProcess(this.plan.survivingWrites(image.uncertainCount));
    }
    this.#tree.endProcess({
      survivesPage: () => this.plan.survivingWrites(1) === 1,
      survivingBytes: (uncertainBytes) => this.plan.survivingWrites(uncertainBytes),
    });
  }

  /** Unsynced changes may be gone, each independently. */
  losePower(): void {
    const loss = this.plan.losePower();
    for (const image of this.#stores.values()) image.losePower(loss);
    this.#tree.losePower(loss);
  }

  #access(life: ProcessLife): DiskAccess {
    const { scheduler } = this.#deps;
    return new DiskAccess({ scheduler, life, plan: () => this.plan, counter: this.#counter });
  }
}

function lockedStore(name: string, holder: ProcessLife): SynclineError {
  const holderName = `${holder.nodeName}#${holder.generation}`;
  return new SynclineError('locked', `the store ${name} is open in process ${holderName}`, {
    details: { holder: holderName },
  });
}
