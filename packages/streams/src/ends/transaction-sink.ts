// Writes the output into a database with transactions, each part exactly once: the rows and a mark, which records how
// much output has been written, change in one transaction.
//
// No PREPARE is needed. The rows are kept in the checkpoint store until their transaction has succeeded, so one that
// fails, expires or is interrupted is simply repeated, and the mark tells whether it had succeeded after all.
import { type OptionNames, refuseUnknownOptions } from '@syncline/kernel';
import { checkFence, lostOutput, optionMissing, unknownOutcome } from './end-error.js';
import type { CommitResult, Fence, OutboxPart, OutboxRow, OutboxSink, SinkMark } from './sink.js';

/** What a target stores for each sink, as one JSON value. */
export interface TransactionMark {
  readonly pipeline: string;
  readonly generation: number;
  readonly token: string;
  readonly epoch: number;
  /** The last part of the epoch that was written; -1 before the first one. */
  readonly part: number;
  /** Whether all parts of the epoch were written. */
  readonly isWhole: boolean;
}

export interface TransactionTarget<Tx> {
  /**
   * Runs `work` in one transaction and commits it: all of its changes are durable when this resolves, and none are
   * applied if `work` throws. Transactions of one sink must be isolated from each other: make them serializable, or
   * lock the row of the mark (`SELECT … FOR UPDATE`).
   */
  transaction<R>(work: (tx: Tx) => Promise<R>, signal: AbortSignal): Promise<R>;
  readMark(tx: Tx, sink: string): Promise<TransactionMark | null>;
  writeMark(tx: Tx, sink: string, mark: TransactionMark): Promise<void>;
  apply(tx: Tx, rows: readonly OutboxRow[]): Promise<void>;
}

export interface TransactionSinkOptions<Tx> {
  readonly uid: string;
  readonly target: TransactionTarget<Tx>;
}

const OPTIONS: OptionNames<TransactionSinkOptions<unknown>> = { uid: true, target: true };

export function transactionSink<Tx>(options: TransactionSinkOptions<Tx>): OutboxSink {
  refuseUnknownOptions(options, 'transactionSink', OPTIONS);
  if ((options.target as unknown) === undefined)
    throw optionMissing('transactionSink', 'target', 'a TransactionTarget');
  return new TransactionSink(options);
}

class TransactionSink<Tx> implements OutboxSink {
  readonly kind = 'outbox';
  readonly contract = 'transactional';
  readonly uid: string;
  readonly #target: TransactionTarget<Tx>;
  #claimedToken: string | undefined;
  /** The output that the target has acknowledged to this process. If it has less, it has lost data. */
  #least = { epoch: 0, part: -1 };

  constructor({ uid, target }: TransactionSinkOptions<Tx>) {
    this.uid = uid;
    this.#target = target;
  }

  async mark(): Promise<SinkMark | null> {
    const never = new AbortController().signal;
    return sinkMarkOf(await this.#transaction((tx) => this.#target.readMark(tx, this.uid), never));
  }

  async claim(fence: Fence, signal: AbortSignal): Promise<SinkMark | null> {
    const held = await this.#transaction(async (tx) => {
      const mark = await this.#target.readMark(tx, this.uid);
      if (mark !== null) checkFence(this.uid, mark, fence);
      const next = { epoch: 0, part: -1, isWhole: true, ...mark, ...writerOf(fence) };
      await this.#target.writeMark(tx, this.uid, next);
      return next;
    }, signal);
    this.#claimedToken = fence.token;
    this.#least = { epoch: held.epoch, part: held.part };
    return sinkMarkOf(held);
  }

  async deliver(part: OutboxPart, fence: Fence, signal: AbortSignal): Promise<CommitResult> {
    if (this.#claimedToken !== fence.token) await this.claim(fence, signal);
    const result = await this.#transaction((tx) => this.#apply(tx, part, fence), signal);
    const { epoch, part: least } = this.#least;
    if (part.epoch > epoch || (part.epoch === epoch && part.part > least)) {
      this.#least = { epoch: part.epoch, part: part.part };
    }
    return result;
  }

  async #apply(tx: Tx, part: OutboxPart, fence: Fence): Promise<CommitResult> {
    const held = await this.#target.readMark(tx, this.uid);
    const least = this.#least;
    if (held === null || isBefore(held, least))
      throw lostOutput(this.uid, sinkMarkOf(held), part.epoch);
    checkFence(this.uid, held, fence);
    if (!isBefore(held, part)) return 'already';
    const isNext = part.epoch === held.epoch ? part.part === held.part + 1 : part.part === 0;
    if (!isNext) throw lostOutput(this.uid, sinkMarkOf(held), part.epoch);
    await this.#target.apply(tx, part.rows);
    await this.#target.writeMark(tx, this.uid, {
      ...writerOf(fence),
      epoch: part.epoch,
      part: part.part,
      isWhole: part.isLast,
    });
    return 'committed';
  }

  /** Errors of a database may be temporary: the connection broke, the transaction expired, a lock was lost. */
  async #transaction<R>(work: (tx: Tx) => Promise<R>, signal: AbortSignal): Promise<R> {
    try {
      return await this.#target.transaction(work, signal);
    } catch (thrown) {
      throw unknownOutcome(this.uid, thrown);
    }
  }
}

function writerOf({ pipeline, generation, token }: Fence) {
  return { pipeline, generation, token };
}

interface Place {
  readonly epoch: number;
  readonly part: number;
}

function isBefore(left: Place, right: Place): boolean {
  return left.epoch === right.epoch ? left.part < right.part : left.epoch < right.epoch;
}

function sinkMarkOf(mark: TransactionMark | null): SinkMark | null {
  if (mark === null) return null;
  const { pipeline, generation, epoch, isWhole } = mark;
  if (isWhole) return { pipeline, generation, epoch };
  return { pipeline, generation, epoch: epoch - 1, partial: epoch };
}

/** The changes of a transaction of the reference target so far. */
export interface MemoryTransaction {
  readonly rows: OutboxRow[];
  readonly marks: Map<string, TransactionMark>;
}

export interface MemoryTarget extends TransactionTarget<MemoryTransaction> {
  /** The rows of all committed transactions, in order. */
  readonly rows: readonly OutboxRow[];
}

/** The reference target: a table and its marks in memory, with transactions one at a time. */
export function memoryTarget(): MemoryTarget {
  const rows: OutboxRow[] = [];
  const marks = new Map<string, TransactionMark>();
  let last: Promise<unknown> = Promise.resolve();
  const run = async <R>(work: (tx: MemoryTransaction) => Promise<R>): Promise<R> => {
    const tx: MemoryTransaction = { rows: [], marks: new Map() };
    const result = await work(tx);
    rows.push(...tx.rows);
    for (const [sink, mark] of tx.marks) marks.set(sink, mark);
    return result;
  };
  return {
    rows,
    transaction(work) {
      const result = last.then(() => run(work));
      last = result.catch(() => undefined);
      return result;
    },
    readMark: async (tx, sink) => tx.marks.get(sink) ?? marks.get(sink) ?? null,
    async writeMark(tx, sink, mark) {
      tx.marks.set(sink, mark);
    },
    async apply(tx, more) {
      tx.rows.push(...more);
    },
  };
}
