// Which records of the log the process has handed to the disk, and how durable each is. It reads three kinds of rows:
// `n`, whose value begins with the number of the job and its incarnation; `l`, the number of the job and the
// revision; and `x`, the number of a job that was deleted.
//
//   being written ─▶ stored: survives a kill ─▶ synced: survives a power loss
//
// A job that is deleted in a batch has no records in that batch: all its other changes in the batch are gone too.
//
// J1  The records of a job have the revisions 1, 2, 3 …; the number of a record that a full disk refused is used
//     again.
// J4  Before anything is shown to a client, it is as durable as its write requested.
import { assert, type Durability, type Storage, type StorageBatch } from '@syncline/kernel';

const JOB = 'n'.charCodeAt(0);
const LOG = 'l'.charCodeAt(0);
const DELETED = 'x'.charCodeAt(0);
/** The fields of a job's row: number and wire type. */
const JOB_NO = 0x08;
const INCARNATION = 0x12;

export interface LogWrite {
  readonly incarnation: string;
  readonly revision: number;
}

interface StoredRecord {
  readonly bytes: Buffer;
  safety: 'none' | Durability;
  /** When it was handed to the disk: in the order of all events, and by the store's clock. */
  readonly step: number;
  readonly atMs: number;
}

export class RecordBook {
  /** By incarnation, like the next two. */
  readonly #jobs = new Map<string, Map<number, StoredRecord>>();
  readonly #last = new Map<string, number>();
  readonly #deleted = new Set<string>();
  /** By the number of the job. The number of a record that a full disk refused is used again. */
  readonly #incarnations = new Map<string, string>();
  /** Increases with every event, so that any two events are ordered. */
  #step = 0;

  nextStep(): number {
    this.#step += 1;
    return this.#step;
  }

  /** What a new process has found on disk. It cannot become any more durable. */
  async recover(storage: Storage): Promise<void> {
    this.#jobs.clear();
    this.#last.clear();
    this.#incarnations.clear();
    for await (const { value } of rowsOf(storage, JOB)) this.#learnJob(value);
    for await (const { key, value } of rowsOf(storage, LOG)) {
      const incarnation = this.#incarnations.get(numberAt(key, 1));
      if (incarnation === undefined) continue; // the job was deleted, and its rows are being removed
      const revision = Number(numberAt(key, 9));
      const record = { bytes: Buffer.from(value), safety: 'synced', step: 0, atMs: 0 } as const;
      this.#recordsOf(incarnation).set(revision, record);
      this.found(incarnation, revision);
    }
  }

  /** Sets the last revision of a job as reported by the store: a power loss may have taken its last records. */
  found(incarnation: string, revision: number): void {
    this.#last.set(incarnation, Math.max(revision, this.#last.get(incarnation) ?? 0));
  }

  writing(batch: StorageBatch, atMs: number): readonly LogWrite[] {
    const written: LogWrite[] = [];
    const step = this.nextStep();
    for (const operation of batch.operations) {
      const { key } = operation;
      if (operation.kind !== 'put') continue;
      if (key[0] === JOB) this.#learnJob(operation.value);
      if (key[0] !== LOG && key[0] !== DELETED) continue;
      const incarnation = this.#incarnations.get(numberAt(key, 1));
      if (key[0] === DELETED) {
        // A start again deletes the rows of a deleted job that a power loss has brought back.
        if (incarnation !== undefined) this.#deleted.add(incarnation);
        continue;
      }
      assert(incarnation !== undefined, `J1: job ${numberAt(key, 1)} has records and no row`);
      const revision = Number(numberAt(key, 9));
      const bytes = Buffer.from(operation.value);
      const last = this.#last.get(incarnation) ?? 0;
      if (revision <= last) {
        const known = this.#recordsOf(incarnation).get(revision);
        assert(known?.bytes.equals(bytes) === true, `J1: revision ${revision} is written twice`);
        continue;
      }
      assert(
        revision === last + 1,
        `J1: revision ${revision} of job ${incarnation} follows ${last}`,
      );
      this.#last.set(incarnation, revision);
      this.#recordsOf(incarnation).set(revision, { bytes, safety: 'none', step, atMs });
      written.push({ incarnation, revision });
    }
    return written;
  }

  stored(written: readonly LogWrite[], durability: Durability): void {
    for (const { incarnation, revision } of written) {
      const record = this.#recordsOf(incarnation).get(revision);
      if (record) record.safety = durability;
    }
  }

  /**
   * Either its revisions are assigned again, or this process writes nothing more and the next start will show what
   * became of it.
   */
  failed(written: readonly LogWrite[]): void {
    for (const { incarnation, revision } of written) {
      this.#recordsOf(incarnation).delete(revision);
      this.#last.set(incarnation, Math.min(revision - 1, this.#last.get(incarnation) ?? 0));
    }
  }

  /** A client is shown a revision whose write requested `durability`. */
  observed(incarnation: string, revision: number, durability: Durability): void {
    if (revision === 0 || this.#deleted.has(incarnation)) return;
    const last = this.#last.get(incarnation) ?? 0;
    assert(
      revision <= last,
      `J4: revision ${revision} of job ${incarnation} was shown but not written`,
    );
    const record = this.#recordsOf(incarnation).get(revision);
    const isEnough = record?.safety === 'synced' || record?.safety === durability;
    assert(
      isEnough || record === undefined,
      `J4: revision ${revision} of job ${incarnation} was shown while it is ${record?.safety}, not ${durability}`,
    );
  }

  recordOf(incarnation: string, revision: number): StoredRecord | undefined {
    return this.#recordsOf(incarnation).get(revision);
  }

  #learnJob(row: Uint8Array): void {
    const { jobNo, incarnation } = jobOfRow(Buffer.from(row));
    this.#incarnations.set(jobNo, incarnation);
  }

  #recordsOf(incarnation: string): Map<number, StoredRecord> {
    const records = this.#jobs.get(incarnation) ?? new Map<number, StoredRecord>();
    this.#jobs.set(incarnation, records);
    return records;
  }
}

async function* rowsOf(storage: Storage, kind: number) {
  const range = storage.range({ from: Uint8Array.of(kind), to: Uint8Array.of(kind + 1) });
  for await (const entries of range.batches()) yield* entries;
}

/** A protobuf message whose first fields are the number of the job, a varint, and its incarnation, a string. */
function jobOfRow(row: Buffer): { readonly jobNo: string; readonly incarnation: string } {
  let at = 1;
  let jobNo = 0n;
  for (let shift = 0n, isLast = false; !isLast; shift += 7n, at += 1) {
    const byte = row.readUInt8(at);
    jobNo |= BigInt(byte & 0x7f) << shift;
    isLast = byte < 0x80;
  }
  assert(row[0] === JOB_NO && row[at] === INCARNATION, 'a job row has an unexpected format');
  const length = row.readUInt8(at + 1);
  const incarnation = row.toString('utf8', at + 2, at + 2 + length);
  return { jobNo: jobNo.toString(), incarnation };
}

function numberAt(key: Uint8Array, at: number): string {
  return Buffer.from(key).readBigUInt64BE(at).toString();
}
