// The end of the graph: collects the outputs of an epoch and writes them to a sink's transaction.
//
// Batches are collected synchronously and written between the batches of a source, a number of outputs at a time.
// Output objects are only created for the write, so they are short-lived. At a barrier, the transaction of the epoch is
// set aside to be prepared and the next one begins; output that arrives before it has begun waits in memory.

import type { SynclineError } from '@syncline/kernel';
import type { Fence, Sink } from '../ends/sink.js';
import type { Json } from '../ends/source.js';
import { streamsLimits } from '../limits.js';
import { type Batch, PipelineOutput, select } from '../pipeline/batch.js';
import { type DeadLetters, Operator } from '../pipeline/operator.js';

/** Approximate number of outputs per write to a sink. */
const WRITE_ITEMS = 2_048;
/** Also written after this many batches: sources split them at 1 MiB, so large outputs do not fill the memory. */
const WRITE_BATCHES = 64;

export class SinkWriter extends Operator implements DeadLetters {
  readonly sink: Sink<unknown>;
  readonly #slot: number;
  readonly #fence: Fence;
  #pending: Batch[] = [];
  #pendingItems = 0;
  #txn: { readonly value: unknown } | undefined;
  /** Outputs of the current epoch, written or not. */
  #count = 0;

  constructor(sink: Sink<unknown>, slot: number, fence: Fence) {
    super(sink.uid);
    this.sink = sink;
    this.#slot = slot;
    this.#fence = fence;
  }

  take(batch: Batch): void {
    this.#pending.push(batch);
    this.#pendingItems += batch.items.length;
    this.#count += batch.items.length;
  }

  /** Adds a dead letter: a rejected record in its raw form, with the reason and its origin. */
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
    this.take({ ...select(batch, [at]), items: [value], emitter: `dead:${uid}` });
  }

  get hasOutput(): boolean {
    return this.#count > 0;
  }

  /** Whether `write` should be called before more is processed. */
  get isFull(): boolean {
    return this.#pendingItems >= WRITE_ITEMS || this.#pending.length >= WRITE_BATCHES;
  }

  async begin(epoch: number): Promise<void> {
    this.#txn = { value: await this.sink.begin(epoch, this.#slot, this.#fence) };
  }

  /** Writes the pending outputs. Does nothing if the transaction has not begun yet. */
  async write(): Promise<void> {
    if (this.#pending.length === 0 || this.#txn === undefined) return;
    await writeAll(this.sink, this.#txn.value, this.#fence.pipeline, this.#takePending());
  }

  #takePending(): readonly Batch[] {
    const batches = this.#pending;
    this.#pending = [];
    this.#pendingItems = 0;
    return batches;
  }

  /** Called at a barrier: everything so far belongs to the returned transaction. */
  cut(): CutTransaction {
    const cut = {
      sink: this.sink,
      pipeline: this.#fence.pipeline,
      txn: this.#txn,
      rest: this.#takePending(),
      hasOutput: this.hasOutput,
      count: this.#count,
    };
    this.#txn = undefined;
    this.#count = 0;
    return cut;
  }

  async abort(): Promise<void> {
    const txn = this.#txn;
    this.#txn = undefined;
    this.#takePending();
    if (txn !== undefined) await this.sink.abort(txn.value);
  }
}

/** The transaction of one epoch, after its barrier. */
export interface CutTransaction {
  readonly sink: Sink<unknown>;
  readonly pipeline: string;
  readonly txn: { readonly value: unknown } | undefined;
  readonly rest: readonly Batch[];
  readonly hasOutput: boolean;
  readonly count: number;
}

/** Makes the output of an epoch durable. Null if there is none. */
export async function prepareCut(cut: CutTransaction): Promise<Json> {
  const { sink, pipeline, txn, rest, hasOutput } = cut;
  if (txn === undefined) return null;
  if (!hasOutput) {
    await sink.abort(txn.value);
    return null;
  }
  await writeAll(sink, txn.value, pipeline, rest);
  return await sink.prepare(txn.value);
}

async function writeAll(
  sink: Sink<unknown>,
  txn: unknown,
  pipeline: string,
  batches: readonly Batch[],
): Promise<void> {
  let outputs: PipelineOutput[] = [];
  for (const batch of batches) {
    for (let at = 0; at < batch.items.length; at += 1) {
      outputs.push(new PipelineOutput(pipeline, batch, at));
    }
    if (outputs.length < WRITE_ITEMS) continue;
    await sink.write(txn, outputs);
    outputs = [];
  }
  if (outputs.length > 0) await sink.write(txn, outputs);
}

function rawText(item: unknown): string {
  const { value: bytesMax } = streamsLimits.deadLetterBytesMax;
  const bytes = item instanceof Uint8Array ? item : Buffer.from(jsonOf(item));
  // With `stream`, a character that was cut in half is left out.
  return new TextDecoder().decode(bytes.subarray(0, bytesMax), { stream: bytes.length > bytesMax });
}

function jsonOf(item: unknown): string {
  try {
    return typeof item === 'string' ? item : (JSON.stringify(item) ?? String(item));
  } catch {
    return String(item); // a bigint, or a cycle
  }
}
