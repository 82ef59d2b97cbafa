// What a simulated store has on its disk: it outlives the processes that open it.
//
// A kill keeps every batch that was handed over. A loss of power keeps the synced ones, and of the
// others any subset: a store may lose any unsynced record, not only the last ones. A batch is never
// torn. Writes in flight, and those whose sync failed, are uncertain: they may turn up after a restart.
//
// K82  A batch acknowledged as buffered survives a kill; one acknowledged as synced, or secured since, a loss of
//      power.
// K83  A batch that was not acknowledged is after a restart whole or gone.
import type { Durability } from '../../storage/storage.js';
import type { StorageOperation } from '../../storage/storage-batch.js';
import type { ProcessLife } from '../process-life.js';
import { hashBytes } from '../trace.js';
import type { PowerLoss } from './disk-plan.js';
import { StoreContent } from './store-content.js';

export interface StoreRecord {
  readonly operations: readonly StorageOperation[];
  readonly durability: Durability;
}

/** Beyond this many, the older half counts as written back: a real disk does not wait for ever either. */
const UNSYNCED_RECORDS_MAX = 512;

export class StoreImage {
  readonly name: string;
  /** The process that has it open. */
  holder: ProcessLife | undefined;
  /** Sure to survive everything. */
  #base = StoreContent.empty;
  /** Applied since, oldest first. */
  #log: StoreRecord[] = [];
  /** Handed over, and nobody can say what became of them. */
  #uncertain: readonly StoreRecord[] = [];
  #content = StoreContent.empty;

  constructor(name: string) {
    this.name = name;
  }

  /** What reads see. */
  get content(): StoreContent {
    return this.#content;
  }

  /** Batches are on their way to the disk: should the process end now, they may or may not be there. */
  begin(records: readonly StoreRecord[]): void {
    this.#uncertain = records;
  }

  /** The batches in flight are applied. */
  commit(): void {
    this.#append(this.#uncertain);
    this.#uncertain = [];
  }

  /** The batches in flight have left no trace. */
  discard(): void {
    this.#uncertain = [];
  }

  /** All that was applied is sure to survive. */
  secure(): void {
    this.#base = this.#content;
    this.#log = [];
  }

  /** The process has ended: the first `survivors` of the uncertain batches are there. */
  endProcess(survivors: number): void {
    this.#append(this.#uncertain.slice(0, survivors));
    this.#uncertain = [];
    this.holder = undefined;
  }

  get uncertainCount(): number {
    return this.#uncertain.length;
  }

  losePower(loss: PowerLoss): void {
    const change = { kind: 'batch', subject: this.name } as const;
    const kept = this.#log.filter(
      (record) => record.durability === 'synced' || loss.survives(change),
    );
    const turnedUp = this.#uncertain.filter(() => loss.survives(change));
    const operations = [...kept, ...turnedUp].flatMap((record) => record.operations);
    this.#content = this.#base.apply(operations);
    this.#base = this.#content;
    this.#log = [];
    this.#uncertain = [];
    this.holder = undefined;
  }

  #append(records: readonly StoreRecord[]): void {
    if (records.length === 0) return;
    this.#content = this.#content.apply(records.flatMap((record) => record.operations));
    this.#log.push(...records);
    if (this.#log.length > UNSYNCED_RECORDS_MAX) this.#writeBack(UNSYNCED_RECORDS_MAX / 2);
  }

  #writeBack(count: number): void {
    const written = this.#log.splice(0, count);
    this.#base = this.#base.apply(written.flatMap((record) => record.operations));
  }
}

/** For the trace. */
export function hashOperations(operations: readonly StorageOperation[]): number {
  let hash = operations.length;
  for (const operation of operations) {
    hash = hashBytes(operation.key, hash);
    if (operation.kind === 'put') hash = hashBytes(operation.value, hash);
  }
  return hash;
}
