// Group commit of a simulated store: what queues up while one commit is under way makes up the next.
//
// Health follows from the commits. A full disk refuses the group and the store is reopened once; from
// then on each group finds out whether there is room. A failed sync is final: nobody can say what became
// of that group, and nothing more is taken.
import type { SynclineError } from '../../error.js';
import type { StorageHealth } from '../../storage/storage.js';
import { hashBytes } from '../trace.js';
import type { DiskAccess, Verdict } from './disk-access.js';
import { closedStore, FAILED_REASON, FULL_REASON, failedDisk, fullDisk } from './disk-errors.js';
import type { StoreImage, StoreRecord } from './store-image.js';

interface WaitingWrite {
  readonly record: StoreRecord;
  readonly resolve: () => void;
  readonly reject: (error: SynclineError) => void;
}

export class CommitQueue {
  readonly #image: StoreImage;
  readonly #disk: DiskAccess;
  #health: StorageHealth = { kind: 'ok' };
  #waiting: WaitingWrite[] = [];
  #isBusy = false;
  #whenIdle: (() => void)[] = [];

  constructor(deps: { readonly image: StoreImage; readonly disk: DiskAccess }) {
    this.#image = deps.image;
    this.#disk = deps.disk;
  }

  get health(): StorageHealth {
    return this.#health;
  }

  add(record: StoreRecord): Promise<void> {
    const refusal = this.#refusal();
    if (refusal !== undefined) return Promise.reject(refusal);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ record, resolve, reject });
      if (!this.#isBusy) void this.#commitAll();
    });
  }

  /** Resolves once nothing waits and nothing is under way, a reopening included. */
  async idle(): Promise<void> {
    while (this.#isBusy) await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
  }

  close(): void {
    this.#health = { kind: 'closed' };
  }

  async #commitAll(): Promise<void> {
    this.#isBusy = true;
    while (this.#waiting.length > 0) await this.#commitGroup();
    this.#isBusy = false;
    for (const resolve of this.#whenIdle.splice(0)) resolve();
  }

  async #commitGroup(): Promise<void> {
    const group = this.#waiting;
    this.#waiting = [];
    const isSynced = group.some(({ record }) => record.durability === 'synced');
    this.#image.begin(group.map(({ record }) => record));
    const kind = isSynced ? 'synced-write' : 'buffered-write';
    const verdict = await this.#disk.perform(kind, this.#image.name, (at) => this.#land(group, at));
    if (verdict === 'ok') for (const { resolve } of group) resolve();
    else await this.#refuse(group, verdict);
  }

  /** The group reaches the disk, or does not. */
  #land(group: readonly WaitingWrite[], verdict: Verdict): Verdict {
    if (verdict === 'ok') this.#image.commit();
    if (verdict === 'full') this.#image.discard();
    if (verdict === 'ok') this.#health = { kind: 'ok' };
    if (verdict === 'failed') this.#health = { kind: 'failed', reason: FAILED_REASON };
    for (const { record } of group) this.#disk.note(verdict, this.#image.name, hashRecord(record));
    return verdict;
  }

  async #refuse(group: readonly WaitingWrite[], verdict: 'full' | 'failed'): Promise<void> {
    const { name } = this.#image;
    for (const { reject } of group)
      reject(verdict === 'full' ? fullDisk(name) : failedDisk(name, 'now'));
    if (verdict === 'failed') {
      for (const { reject } of this.#waiting.splice(0)) reject(failedDisk(name, 'before'));
    } else if (this.#health.kind === 'ok') {
      this.#health = { kind: 'reopening' };
      await this.#disk.perform('reopen', name, () => {});
      this.#health = { kind: 'full', reason: FULL_REASON };
    }
  }

  #refusal(): SynclineError | undefined {
    if (this.#health.kind === 'closed') return closedStore(this.#image.name);
    if (this.#health.kind === 'failed') return failedDisk(this.#image.name, 'before');
    return undefined;
  }
}

function hashRecord(record: StoreRecord): number {
  let hash = record.operations.length;
  for (const operation of record.operations) {
    hash = hashBytes(operation.key, hash);
    if (operation.kind === 'put') hash = hashBytes(operation.value, hash);
  }
  return hash;
}
