// The end of the graph: collects the outputs of an epoch and hands them to a sink's transaction.
//
// Outputs are gathered synchronously and written between batches. At a barrier the transaction of the
// epoch is set aside to be prepared, and the next one begins; what comes meanwhile waits in memory.

import type { SynclineError } from '@syncline/kernel';
import type { Fence, Output, Sink } from '../ends/sink.js';
import type { Json } from '../ends/source.js';
import { streamsLimits } from '../limits.js';
import { type Batch, type OutputContext, PipelineOutput } from '../pipeline/batch.js';
import { type DeadLetters, Operator } from '../pipeline/operator.js';

/** Outputs that are handed to a sink at once. */
const WRITE_ITEMS = 2_048;

export class SinkWriter extends Operator implements DeadLetters {
  readonly sink: Sink<unknown>;
  readonly #pipeline: string;
  #pending: Output<unknown>[] = [];
  #txn: { readonly value: unknown } | undefined;
  /** Outputs of the current epoch, written or not. */
  #count = 0;
  total = 0;

  constructor(sink: Sink<unknown>, pipeline: string) {
    super(sink.uid);
    this.sink = sink;
    this.#pipeline = pipeline;
  }

  take(batch: Batch): void {
    const { items, keys, rounds, emitter, origin, epoch } = batch;
    const context: OutputContext = { pipeline: this.#pipeline, emitter, origin, epoch };
    for (let at = 0; at < items.length; at += 1) {
      const round = rounds[at] as number;
      this.#pending.push(
        new PipelineOutput(items[at], keys?.[at], round, batch.indexAt(at), context),
      );
    }
    this.#count += items.length;
  }

  /** A record that was refused: its raw form, why, and where it came from. */
  add(uid: string, batch: Batch, at: number, error: SynclineError): void {
    const { origin, epoch } = batch;
    const round = batch.rounds[at] as number;
    const reason = error.cause instanceof Error ? error.cause.message : error.message;
    const value = {
      uid,
      partition: origin,
      incarnation: epoch,
      position: round,
      reason,
      raw: rawText(batch.items[at]),
    };
    const context = { pipeline: this.#pipeline, emitter: `dead:${uid}`, origin, epoch };
    this.#pending.push(
      new PipelineOutput(value, batch.keys?.[at], round, batch.indexAt(at), context),
    );
    this.#count += 1;
  }

  get hasOutput(): boolean {
    return this.#count > 0;
  }

  /** True if `write` should be called before more is processed. */
  get isFull(): boolean {
    return this.#pending.length >= WRITE_ITEMS;
  }

  async begin(epoch: number, fence: Fence): Promise<void> {
    this.#txn = { value: await this.sink.begin(epoch, 0, fence) };
  }

  /** Hands on what is pending. Before the transaction has begun it stays. */
  async write(): Promise<void> {
    if (this.#pending.length === 0 || this.#txn === undefined) return;
    const outputs = this.#pending;
    this.#pending = [];
    await this.sink.write(this.#txn.value, outputs);
  }

  /** At a barrier: everything so far belongs to the transaction that is returned. */
  cut(): CutTransaction {
    const cut = {
      sink: this.sink,
      txn: this.#txn,
      rest: this.#pending,
      hasOutput: this.hasOutput,
      count: this.#count,
    };
    this.total += this.#count;
    this.#pending = [];
    this.#txn = undefined;
    this.#count = 0;
    return cut;
  }

  async abort(): Promise<void> {
    const txn = this.#txn;
    this.#txn = undefined;
    this.#pending = [];
    if (txn !== undefined) await this.sink.abort(txn.value);
  }
}

/** The transaction of one epoch, behind its barrier. */
export interface CutTransaction {
  readonly sink: Sink<unknown>;
  readonly txn: { readonly value: unknown } | undefined;
  readonly rest: readonly Output<unknown>[];
  readonly hasOutput: boolean;
  readonly count: number;
}

/** Makes the output of an epoch durable. Null if there is none. */
export async function prepareCut({ sink, txn, rest, hasOutput }: CutTransaction): Promise<Json> {
  if (txn === undefined) return null;
  if (!hasOutput) {
    await sink.abort(txn.value);
    return null;
  }
  if (rest.length > 0) await sink.write(txn.value, rest);
  return await sink.prepare(txn.value);
}

function rawText(item: unknown): string {
  const { value: bytesMax } = streamsLimits.deadLetterBytesMax;
  const text = item instanceof Uint8Array ? Buffer.from(item).toString('utf8') : jsonOf(item);
  return text.length <= bytesMax ? text : text.slice(0, bytesMax);
}

function jsonOf(item: unknown): string {
  try {
    return typeof item === 'string' ? item : (JSON.stringify(item) ?? String(item));
  } catch {
    return String(item); // a bigint, or a cycle
  }
}
