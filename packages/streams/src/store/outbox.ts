// Turns an outbox sink into a transactional one: its rows are kept in the checkpoint store until they have been
// delivered, and for a while afterwards.
//
// Parts are written with a sync as they fill up; the last one is part of the checkpoint's batch. `head` contains their
// number and checksum, so leftovers of an abandoned attempt are never mistaken for output. Delivered parts are kept for
// two epochs and ten seconds: a target that loses its last writes, such as a Redis that syncs every second, gets them
// again.
import {
  abortedError,
  assert,
  type Clock,
  type Storage,
  StorageBatch,
  SynclineError,
} from '@syncline/kernel';
import { crc32 } from '@syncline/kernel/node';
import type {
  CommitResult,
  Fence,
  OutboxPart,
  OutboxRow,
  OutboxSink,
  Output,
  Sink,
  SinkMark,
} from '../ends/sink.js';
import type { Json } from '../ends/source.js';
import { streamsLimits } from '../limits.js';
import type { Key } from '../state/key.js';
import { badRecord, corrupt } from '../state/state-error.js';
import { keyText, sealText, storeKeys, unseal } from './layout.js';

const KEEP_EPOCHS = 2;

export interface OutboxTxn {
  readonly epoch: number;
  /** Rows that are not in a stored part yet, as JSON. */
  rows: string[];
  bytes: number;
  /** Size of all rows, stored or not. */
  totalBytes: number;
  parts: number;
  count: number;
  crc: number;
  last: Uint8Array | undefined;
  /** The attempt was abandoned. A retry of the epoch writes its parts under the same keys. */
  isAborted: boolean;
}

interface OutboxHandle {
  readonly epoch: number;
  readonly parts: number;
  readonly rows: number;
  /** Checksum over the checksums of all parts. */
  readonly crc: number;
}

interface StoredPart {
  readonly epoch: number;
  readonly part: number;
  readonly first: number;
  readonly rows: readonly (readonly [string, StoredKey, Json])[];
}

type StoredKey = null | string | number | { readonly bigint: string };

export interface OutboxStoreDeps {
  readonly storage: Storage;
  readonly clock: Clock;
  /** Minimum time for which delivered parts are kept. */
  readonly keepMs: number;
  /** Aborted when the run ends. */
  readonly signal: AbortSignal;
}

export class OutboxStore implements Sink<unknown, OutboxTxn> {
  readonly uid: string;
  readonly contract: Sink<unknown>['contract'];
  readonly target: OutboxSink;
  readonly #storage: Storage;
  readonly #clock: Clock;
  readonly #keepMs: number;
  /** Aborted when the run ends. */
  readonly #signal: AbortSignal;
  #fence: Fence | undefined;
  /** Size of the rows that are not part of a checkpoint yet. */
  waitingBytes = 0;
  /** Delivered epochs that are still stored, and when they were delivered. */
  readonly #delivered = new Map<number, { readonly parts: number; readonly atMs: number }>();

  constructor(target: OutboxSink, { storage, clock, keepMs, signal }: OutboxStoreDeps) {
    this.uid = target.uid;
    this.contract = target.contract;
    this.target = target;
    this.#storage = storage;
    this.#clock = clock;
    this.#keepMs = keepMs;
    this.#signal = signal;
  }

  mark(): Promise<SinkMark | null> {
    return this.target.mark();
  }

  /** Raises the fence of the target and returns its mark from then on. */
  async claim(fence: Fence): Promise<SinkMark | null> {
    this.#fence = fence;
    return this.target.claim === undefined
      ? await this.target.mark()
      : await this.target.claim(fence, this.#signal);
  }

  async recover(owed: readonly Json[], fence: Fence): Promise<void> {
    this.#fence = fence;
    for (const handle of owed) await this.commit(handle);
  }

  async begin(epoch: number): Promise<OutboxTxn> {
    return {
      epoch,
      rows: [],
      bytes: 0,
      totalBytes: 0,
      parts: 0,
      count: 0,
      crc: 0,
      last: undefined,
      isAborted: false,
    };
  }

  async write(txn: OutboxTxn, outputs: readonly Output<unknown>[]): Promise<void> {
    await this.writeRows(
      txn,
      outputs.map((output) => encodeRow(this.uid, output)),
    );
  }

  /** Writes rows that are already encoded. Throws `aborted` if the transaction was aborted. */
  async writeRows(txn: OutboxTxn, rows: readonly string[]): Promise<void> {
    const { value: partBytesMax } = streamsLimits.outboxPartBytesMax;
    this.#checkOpen(txn);
    for (const row of rows) {
      if (txn.rows.length > 0 && txn.bytes + row.length > partBytesMax) {
        const batch = new StorageBatch();
        this.#cutPart(txn, batch);
        await this.#storage.write(batch, { durability: 'synced' });
        this.#checkOpen(txn);
      }
      txn.rows.push(row);
      txn.bytes += row.length;
      txn.totalBytes += row.length;
      this.waitingBytes += row.length;
    }
  }

  #checkOpen({ epoch, isAborted }: OutboxTxn): void {
    if (!isAborted) return;
    throw new SynclineError('aborted', `sink "${this.uid}": epoch ${epoch} was abandoned`);
  }

  async prepare(txn: OutboxTxn): Promise<Json> {
    const batch = new StorageBatch();
    this.waitingBytes -= txn.totalBytes;
    txn.totalBytes = 0;
    this.#cutPart(txn, batch);
    txn.last = batch.operations[0]?.kind === 'put' ? batch.operations[0].value : undefined;
    const { epoch, parts, count, crc } = txn;
    return { epoch, parts, rows: count, crc };
  }

  /** Adds the last part to the batch of the checkpoint. */
  fill(batch: StorageBatch, txn: OutboxTxn): void {
    if (txn.last !== undefined) {
      batch.put(storeKeys.boxPart(this.uid, txn.epoch, txn.parts - 1), txn.last);
    }
  }

  #cutPart(txn: OutboxTxn, batch: StorageBatch): void {
    if (txn.rows.length === 0) return;
    const { epoch, parts: part, count: first } = txn;
    // The JSON of a `StoredPart`, built as text because its rows are already encoded.
    const rows = `"rows":[${txn.rows.join(',')}]`;
    const sealed = sealText(`{"epoch":${epoch},"part":${part},"first":${first},${rows}}`);
    batch.put(storeKeys.boxPart(this.uid, epoch, part), sealed);
    txn.crc = crc32(Buffer.from(`${txn.crc} ${crc32(sealed)}`));
    txn.count += txn.rows.length;
    txn.parts += 1;
    txn.rows = [];
    txn.bytes = 0;
  }

  async commit(handle: Json): Promise<CommitResult> {
    const { epoch, parts, crc } = handle as unknown as OutboxHandle;
    const fence = this.#fence;
    assert(fence !== undefined, 'a sink is recovered before it commits');
    let result: CommitResult = 'already';
    for (const part of this.#readParts(epoch, parts, crc)) {
      const delivered = await this.#deliver(part, fence);
      if (delivered === 'committed') result = 'committed';
    }
    this.#delivered.set(epoch, { parts, atMs: this.#clock.monotonicMs() });
    return result;
  }

  /**
   * Stops waiting when the run is aborted, so that a target that does not answer cannot keep it from ending. The part
   * stays owed, and whoever delivers it next may find that it has arrived.
   */
  async #deliver(part: OutboxPart, fence: Fence): Promise<CommitResult> {
    const signal = this.#signal;
    const error = () => abortedError(`delivery to sink "${this.uid}"`, signal);
    if (signal.aborted) throw error();
    let stop = () => {};
    const aborted = new Promise<never>((_, reject) => {
      stop = () => reject(error());
    });
    signal.addEventListener('abort', stop, { once: true });
    try {
      return await Promise.race([aborted, this.target.deliver(part, fence, signal)]);
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  *#readParts(epoch: number, parts: number, crc: number): Generator<OutboxPart> {
    const sealed: Uint8Array[] = [];
    let found = 0;
    const name = `outbox of sink "${this.uid}", epoch ${epoch}`;
    for (let part = 0; part < parts; part += 1) {
      const bytes = this.#storage.get(storeKeys.boxPart(this.uid, epoch, part));
      if (bytes === undefined) {
        throw corrupt(name, { offset: 0, expected: `part ${part} of ${parts}`, found: 'nothing' });
      }
      found = crc32(Buffer.from(`${found} ${crc32(bytes)}`));
      sealed.push(bytes);
    }
    if (found !== crc) {
      throw corrupt(name, { offset: 0, expected: `checksum ${crc}`, found: String(found) });
    }
    for (const [part, bytes] of sealed.entries()) {
      const { first, rows } = unseal(name, bytes) as StoredPart;
      yield { epoch, part, isLast: part === parts - 1, first, rows: rows.map(decodeRow) };
    }
  }

  /** Parts that were already written are overwritten or removed when the epoch is retried. */
  async abort(txn: OutboxTxn): Promise<void> {
    txn.isAborted = true;
    this.waitingBytes -= txn.totalBytes;
    txn.totalBytes = 0;
  }

  /** Handles of the epochs up to `through` that are still stored, oldest first. Used after a target has lost data. */
  async retained(from: number, through: number): Promise<readonly Json[]> {
    const handles: Json[] = [];
    const parts = new Map<number, { count: number; crc: number; rows: number }>();
    for await (const { key, value } of this.#storage.range(storeKeys.under(`box/${this.uid}`))) {
      const epoch = Number(keyText(key).split('/').at(-2));
      if (epoch < from || epoch > through) continue;
      const known = parts.get(epoch) ?? { count: 0, crc: 0, rows: 0 };
      const { rows } = unseal(`outbox of sink "${this.uid}"`, value) as StoredPart;
      parts.set(epoch, {
        count: known.count + 1,
        crc: crc32(Buffer.from(`${known.crc} ${crc32(value)}`)),
        rows: known.rows + rows.length,
      });
    }
    for (const [epoch, { count, crc, rows }] of parts) {
      handles.push({ epoch, parts: count, rows, crc });
    }
    return handles;
  }

  /** Removes the leftovers of abandoned attempts after `epoch`, and registers the retained parts. */
  async sweep(epoch: number): Promise<void> {
    const batch = new StorageBatch();
    this.#delivered.clear();
    for await (const { key } of this.#storage.range(storeKeys.under(`box/${this.uid}`))) {
      const stored = Number(keyText(key).split('/').at(-2));
      if (stored > epoch) batch.delete(key);
      else {
        const parts = (this.#delivered.get(stored)?.parts ?? 0) + 1;
        this.#delivered.set(stored, { parts, atMs: this.#clock.monotonicMs() });
      }
    }
    if (batch.length > 0) await this.#storage.write(batch, { durability: 'synced' });
  }

  /** Adds the removal of old delivered parts to the batch of epoch `epoch`. Returns the last epoch removed, or 0. */
  collect(batch: StorageBatch, epoch: number): number {
    const nowMs = this.#clock.monotonicMs();
    let dropped = 0;
    for (const [old, { parts, atMs }] of this.#delivered) {
      if (old > epoch - 1 - KEEP_EPOCHS || nowMs - atMs < this.#keepMs) continue;
      for (let part = 0; part < parts; part += 1) {
        batch.delete(storeKeys.boxPart(this.uid, old, part));
      }
      this.#delivered.delete(old);
      dropped = Math.max(dropped, old);
    }
    return dropped;
  }
}

interface RowsTxn {
  readonly rows: string[];
  bytes: number;
}

/** Replaces an outbox sink on a worker: its rows are sent to the main thread, which stores them. */
export class OutboxRows implements Sink<unknown, RowsTxn> {
  readonly uid: string;
  readonly contract: Sink<unknown>['contract'];
  /** Size of the rows that have not been sent yet. */
  waitingBytes = 0;

  constructor({ uid, contract }: OutboxSink) {
    this.uid = uid;
    this.contract = contract;
  }

  async begin(): Promise<RowsTxn> {
    return { rows: [], bytes: 0 };
  }

  async write(txn: RowsTxn, outputs: readonly Output<unknown>[]): Promise<void> {
    for (const output of outputs) {
      const row = encodeRow(this.uid, output);
      txn.rows.push(row);
      txn.bytes += row.length;
      this.waitingBytes += row.length;
    }
  }

  async prepare(txn: RowsTxn): Promise<Json> {
    this.waitingBytes -= txn.bytes;
    return txn.rows;
  }

  async abort(txn: RowsTxn): Promise<void> {
    this.waitingBytes -= txn.bytes;
  }

  async mark(): Promise<null> {
    return null;
  }

  async recover(): Promise<void> {}

  async commit(): Promise<CommitResult> {
    assert(false, 'a worker commits nothing');
  }
}

function encodeRow(uid: string, output: Output<unknown>): string {
  const { key, value } = output;
  let row: string | undefined;
  try {
    row = JSON.stringify([output.id(), storedKey(key), value]);
  } catch (thrown) {
    throw badRecord(`sink "${uid}" cannot write an output as JSON: ${(thrown as Error).message}`);
  }
  return row;
}

function storedKey(key: Key | undefined): StoredKey {
  if (key === undefined) return null;
  return typeof key === 'bigint' ? { bigint: String(key) } : key;
}

function decodeRow([id, key, value]: StoredPart['rows'][number]): OutboxRow {
  if (key === null) return { id, value };
  return { id, value, key: typeof key === 'object' ? BigInt(key.bigint) : key };
}
