// A feed's store in memory: the latest change of each key, and a bounded log of the newest changes.
import { assert } from '../assert.js';
import type { FeedChange } from './feed-event.js';
import type { FeedStore, FeedView } from './feed-store.js';

export interface MemoryFeedStoreOptions<C, Scope> {
  /** How many of the newest changes are kept for resuming. */
  readonly logMax: number;
  /** Changes per page of a read. */
  readonly pageMax: number;
  readonly isInScope: (scope: Scope, change: C) => boolean;
  readonly bytesOf: (change: C) => number;
}

/** Every change is matched against every subscriber. */
const ONE_TOPIC = [''] as const;

export class MemoryFeedStore<C extends FeedChange, Scope = void> implements FeedStore<C, Scope> {
  readonly #options: MemoryFeedStoreOptions<C, Scope>;
  /** A rewritten key moves to the end, so that iteration ascends by revision. */
  readonly #latest = new Map<string, C>();
  #log: C[] = [];
  #revision = 0;
  #compactedTo = 0;

  constructor(options: MemoryFeedStoreOptions<C, Scope>) {
    this.#options = options;
  }

  revision(): number {
    return this.#revision;
  }

  isInScope(scope: Scope, change: C): boolean {
    return this.#options.isInScope(scope, change);
  }

  topicsOfScope(_scope: Scope): readonly string[] {
    return ONE_TOPIC;
  }

  topicsOfChange(_change: C): readonly string[] {
    return ONE_TOPIC;
  }

  bytesOf(change: C): number {
    return this.#options.bytesOf(change);
  }

  commit(change: C): void {
    assert(change.revision > this.#revision, 'revisions rise');
    this.#revision = change.revision;
    this.#latest.delete(change.key);
    this.#latest.set(change.key, change);
    this.#log.push(change);
    // Cut in bulk: shifting one at a time would move the whole log for each commit.
    if (this.#log.length >= 2 * this.#options.logMax) this.compact(this.#options.logMax);
  }

  /** Forgets all but the newest `keepCount` changes of the log. The latest of each key stays. */
  compact(keepCount: number): void {
    const cut = Math.max(0, this.#log.length - keepCount);
    this.#compactedTo = this.#log[cut - 1]?.revision ?? this.#compactedTo;
    this.#log = this.#log.slice(cut);
  }

  async view(scope: Scope, _signal?: AbortSignal): Promise<FeedView<C>> {
    const inScope = (changes: readonly C[]) =>
      changes.filter((change) => this.isInScope(scope, change));
    const latest = [...this.#latest.values()];
    const log = this.#log.slice();
    return {
      revision: this.#revision,
      compactedTo: this.#compactedTo,
      latest: (after) => this.#pages(inScope(latest), after),
      changes: (after) => this.#pages(inScope(log), after),
      close() {},
    };
  }

  async *#pages(changes: readonly C[], after: number): AsyncGenerator<readonly C[]> {
    const first = changes.findIndex(({ revision }) => revision > after);
    if (first === -1) return;
    for (let at = first; at < changes.length; at += this.#options.pageMax) {
      yield changes.slice(at, at + this.#options.pageMax);
    }
  }
}
