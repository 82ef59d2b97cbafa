// The on-disk state of a simulated store: it outlives the processes that open it.
//
// A kill keeps every batch that was written. A power loss keeps the synced ones, and any subset of the others: a
// store may lose any unsynced record, not only the last ones. A batch is never torn. Writes in flight, and those
// whose sync failed, are uncertain: they may turn up after a restart.
//
// K82  A batch acknowledged as buffered survives a kill; one acknowledged as synced, or secured since, a power loss.
// K83  After a restart, a batch that was not acknowledged is complete or gone.
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

/** Beyond this many, the older half counts as written back: a real disk does not wait forever either. */
const UNSYNCED_RECORDS_MAX = 512;

export class StoreImage {
  readonly name: string;
  /** The process that has it open. */
  holder: ProcessLife | undefined;
  /** Durable. */
  #base = StoreContent.empty;
  /** Applied since, oldest first. */
  #log: StoreRecord[] = [];
  /** Written, with an unknown outcome. */
  #uncertain: readonly StoreRecord[] = [];
  #content = StoreContent.empty;

  constructor(name: string) {
    this.name = name;
  }

  /** What reads see. */
  get content(): StoreContent {
    return this.#content;
  }

  /** Batches are being written: if the process ends now, they may or may not survive. */
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

  /** Everything applied so far is durable. */
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
