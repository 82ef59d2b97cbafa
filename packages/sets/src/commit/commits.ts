// Group commit: the changes of one turn of the event loop become one record of the journal.
//
//   changed ─▶ open ─ end of the turn ─▶ in flight ─ written ─▶ settled
//               ▲                            │
//               └── later turns join ────────┘ failed: both are undone, in reverse, and settled with the error
//
// One write is in flight at a time. A record that has grown large is closed before the end of the turn, so
// that no generation of the head gets large; the next write takes all closed records. A commit's number is
// its place in the journal, which has no holes, so a number is used again when its write has failed; by then
// nobody waits for it any more. A disk that had no room may have kept such a write nevertheless, so the next
// one overwrites or deletes all its numbers. Listeners instead of promises: a pipeline of a thousand commands
// waits with one of them.
//
// S5  Who waits for a commit hears of it only once it is as durable as configured.
// S7  After a failed write memory is as it was before the oldest commit that is not settled.
import {
  assert,
  type Clock,
  type Durability,
  type Metrics,
  type Storage,
  StorageBatch,
  SynclineError,
} from '@syncline/kernel';
import { setsLimits } from '../limits.js';
import type { JournalRecord, SetsState } from '../state/sets-state.js';
import { journalKey } from '../state/storage-keys.js';

// A record with so many changed elements, or of this size, is closed: a part of the head ends where a record
// ends, so it then passes the size of a batch by little, unless one operation alone is larger.
const RECORD_ELEMENTS_MAX = setsLimits.foldBatchEntriesMax.value / 4;
const RECORD_BYTES_MAX = setsLimits.foldBatchBytesMax.value / 8;

export type CommitListener = (error: SynclineError | undefined) => void;

/** What a commit asks of the sets. */
export type Journaled = Pick<
  SetsState,
  'gatheringNumber' | 'isGathering' | 'gatheredBytes' | 'takeRecord' | 'settled' | 'undoFrom'
>;

export interface CommitsDeps {
  readonly state: Journaled;
  readonly storage: Pick<Storage, 'write'>;
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** After each commit, before anybody who waits for it is told. */
  onSettled(error: SynclineError | undefined): void;
}

export class Commits {
  durability: Durability;
  readonly #deps: CommitsDeps;
  /** The last commit that is stored. */
  #settled: number;
  /** The last commit of the write in flight; that of `#settled` when there is none. */
  #inFlight: number;
  /** The last number of a write that failed and was not overwritten since: the disk may have it. */
  #doubtful = 0;
  /** Records that wait for their write. */
  #closed: JournalRecord[] = [];
  /** Elements that were changed since the last record was closed. */
  #elements = 0;
  #isFlushPlanned = false;
  #waitingInFlight: CommitListener[] = [];
  #waitingOpen: CommitListener[] = [];
  #count = 0;
  #failuresCount = 0;
  #lastFailure: SynclineError | undefined;

  constructor(deps: CommitsDeps, options: { readonly durability: Durability }) {
    this.#deps = deps;
    this.durability = options.durability;
    this.#settled = deps.state.gatheringNumber - 1;
    this.#inFlight = this.#settled;
  }

  get settled(): number {
    return this.#settled;
  }

  /** Commits that were stored since the start. */
  get count(): number {
    return this.#count;
  }

  get failuresCount(): number {
    return this.#failuresCount;
  }

  get lastFailure(): SynclineError | undefined {
    return this.#lastFailure;
  }

  /** The newest commit that is not stored yet; 0 when everything is. */
  get newest(): number {
    const { isGathering, gatheringNumber } = this.#deps.state;
    const newest = isGathering ? gatheringNumber : gatheringNumber - 1;
    return newest > this.#settled ? newest : 0;
  }

  /** Call it after each operation, with the elements that it changed. */
  changed(elements: number): void {
    this.#elements += elements;
    const { gatheredBytes } = this.#deps.state;
    if (this.#elements >= RECORD_ELEMENTS_MAX || gatheredBytes >= RECORD_BYTES_MAX) {
      this.#closeRecord();
    }
    this.#planFlush();
  }

  /** Calls back once this commit, and so all before it, is stored or has failed; at once if it is. */
  whenSettled(commit: number, listener: CommitListener): void {
    const pending = Math.min(commit, this.newest); // a number may be left over from a commit that failed
    if (pending <= this.#settled) listener(undefined);
    else if (pending <= this.#inFlight) this.#waitingInFlight.push(listener);
    else this.#waitingOpen.push(listener);
  }

  /** Resolves when all changes up to now are stored; rejects when they were undone. */
  allSettled(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.whenSettled(this.newest, (error) => (error === undefined ? resolve() : reject(error)));
    });
  }

  /** Adds the deletion of what failed writes may have left in the journal behind this number. */
  deleteDoubtful(batch: StorageBatch, after = this.#settled): void {
    for (let number = after + 1; number <= this.#doubtful; number += 1) {
      batch.delete(journalKey(number));
    }
  }

  get #isWriting(): boolean {
    return this.#inFlight > this.#settled;
  }

  #planFlush(): void {
    if (this.#isFlushPlanned || this.#isWriting) return;
    this.#isFlushPlanned = true;
    this.#deps.clock.defer(() => this.#flush());
  }

  #closeRecord(): void {
    const record = this.#deps.state.takeRecord();
    this.#elements = 0;
    if (record === undefined) return;
    const previous = this.#closed.at(-1)?.number ?? this.#inFlight;
    assert(record.number === previous + 1, 'S6: journal numbers rise by 1');
    this.#closed.push(record);
  }

  #flush(): void {
    this.#isFlushPlanned = false;
    if (this.#isWriting) return;
    this.#closeRecord();
    const records = this.#closed;
    if (records.length === 0) return;
    this.#closed = [];
    this.#inFlight += records.length;
    this.#waitingInFlight = this.#waitingOpen;
    this.#waitingOpen = [];
    void this.#write(records);
  }

  async #write(records: readonly JournalRecord[]): Promise<void> {
    const { storage, clock, metrics } = this.#deps;
    const startMs = clock.monotonicMs();
    const batch = new StorageBatch();
    for (const { number, bytes } of records) batch.put(journalKey(number), bytes);
    this.deleteDoubtful(batch, this.#inFlight);
    try {
      await storage.write(batch, { durability: this.durability });
    } catch (thrown) {
      this.#fail(SynclineError.from(thrown, 'storage-failed'));
      return;
    }
    metrics.observe('syncline_sets_commit_seconds', (clock.monotonicMs() - startMs) / 1000);
    this.#succeed();
  }

  #succeed(): void {
    const { state, onSettled } = this.#deps;
    this.#count += this.#inFlight - this.#settled;
    this.#settled = this.#inFlight;
    this.#doubtful = 0;
    state.settled(this.#settled);
    if (this.newest > 0) this.#planFlush();
    const waiting = this.#waitingInFlight;
    this.#waitingInFlight = [];
    onSettled(undefined);
    for (const listener of waiting) listener(undefined);
  }

  /** What was made on top of the failed write goes with it: it may rest on what nobody has stored. */
  #fail(error: SynclineError): void {
    this.#deps.state.undoFrom(this.#settled + 1);
    this.#doubtful = Math.max(this.#doubtful, this.#inFlight);
    this.#inFlight = this.#settled;
    this.#closed = [];
    this.#elements = 0;
    assert(this.newest === 0, 'S7: nothing is left that is not stored');
    this.#failuresCount += 1;
    this.#lastFailure = error;
    const waiting = [...this.#waitingInFlight, ...this.#waitingOpen];
    this.#waitingInFlight = [];
    this.#waitingOpen = [];
    this.#deps.onSettled(error);
    for (const listener of waiting) listener(error);
  }
}
