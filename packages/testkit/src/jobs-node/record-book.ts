// Which records of the log the process has handed to the disk, and how safe each is. It reads keys alone:
// `l`, the number of the job, the revision; and `x`, the number of a job that was deleted.
//
//   being written ─▶ stored: safe from a kill ─▶ synced: safe from a loss of power
//
// A job that is deleted in a batch has no records of that batch: whatever else happened in it is gone too.
//
// J1  The records of a job have the revisions 1, 2, 3 …; what a full disk refused leaves its number to the next.
// J4  What anybody is told of was as durable before as its write had asked.
import { assert, type Durability, type Storage, type StorageBatch } from '@syncline/kernel';

const LOG = 'l'.charCodeAt(0);
const DELETED = 'x'.charCodeAt(0);

export interface LogWrite {
  readonly jobNo: string;
  readonly revision: number;
  readonly bytes: Buffer;
}

interface StoredRecord {
  readonly bytes: Buffer;
  safety: 'none' | Durability;
  /** When it was handed to the disk: what came before, and by the store's clock. */
  readonly step: number;
  readonly atMs: number;
}

export class RecordBook {
  readonly #jobs = new Map<string, Map<number, StoredRecord>>();
  readonly #last = new Map<string, number>();
  readonly #deleted = new Set<string>();
  /** Rises with all that is noted, so that of two things one is the earlier. */
  #step = 0;

  nextStep(): number {
    this.#step += 1;
    return this.#step;
  }

  /** What a new process finds. All of it is as safe as it will ever be. */
  async recover(storage: Storage): Promise<void> {
    this.#jobs.clear();
    this.#last.clear();
    const range = storage.range({ from: Uint8Array.of(LOG), to: Uint8Array.of(LOG + 1) });
    for await (const entries of range.batches()) {
      for (const { key, value } of entries) {
        const { jobNo, revision, bytes } = logWrite(key, value);
        const record = { bytes, safety: 'synced', step: 0, atMs: 0 } as const;
        this.#recordsOf(jobNo).set(revision, record);
        this.#last.set(jobNo, Math.max(revision, this.#last.get(jobNo) ?? 0));
      }
    }
  }

  /** The store says where a job stands: its last records may be among those that a loss of power took. */
  found(incarnation: string, revision: number): void {
    const jobNo = jobNoOf(incarnation);
    this.#last.set(jobNo, Math.max(revision, this.#last.get(jobNo) ?? 0));
  }

  writing(batch: StorageBatch, atMs: number): readonly LogWrite[] {
    const written: LogWrite[] = [];
    const step = this.nextStep();
    for (const operation of batch.operations) {
      if (operation.key[0] === DELETED) this.#deleted.add(numberAt(operation.key, 1));
      if (operation.kind !== 'put' || operation.key[0] !== LOG) continue;
      const write = logWrite(operation.key, operation.value);
      const { jobNo, revision, bytes } = write;
      const last = this.#last.get(jobNo) ?? 0;
      if (revision <= last) {
        const known = this.#recordsOf(jobNo).get(revision);
        assert(known?.bytes.equals(bytes) === true, `J1: revision ${revision} is written twice`);
        continue;
      }
      assert(revision === last + 1, `J1: revision ${revision} of job ${jobNo} follows ${last}`);
      this.#last.set(jobNo, revision);
      this.#recordsOf(jobNo).set(revision, { bytes, safety: 'none', step, atMs });
      written.push(write);
    }
    return written;
  }

  stored(written: readonly LogWrite[], durability: Durability): void {
    for (const { jobNo, revision } of written) {
      const record = this.#recordsOf(jobNo).get(revision);
      if (record) record.safety = durability;
    }
  }

  /** Its revisions are given again, or no process of this life writes any more: the next start will see. */
  failed(written: readonly LogWrite[]): void {
    for (const { jobNo, revision } of written) {
      this.#recordsOf(jobNo).delete(revision);
      this.#last.set(jobNo, Math.min(revision - 1, this.#last.get(jobNo) ?? 0));
    }
  }

  /** Somebody is told of a revision whose write asked for `durability`. */
  told(incarnation: string, revision: number, durability: Durability): void {
    const jobNo = jobNoOf(incarnation);
    if (revision === 0 || this.#deleted.has(jobNo)) return;
    const last = this.#last.get(jobNo) ?? 0;
    assert(revision <= last, `J4: revision ${revision} of job ${incarnation} is told, not written`);
    const record = this.#recordsOf(jobNo).get(revision);
    const isEnough = record?.safety === 'synced' || record?.safety === durability;
    assert(
      isEnough || record === undefined,
      `J4: revision ${revision} of job ${incarnation} is told of while it is ${record?.safety}, not ${durability}`,
    );
  }

  recordOf(incarnation: string, revision: number): StoredRecord | undefined {
    return this.#recordsOf(jobNoOf(incarnation)).get(revision);
  }

  #recordsOf(jobNo: string): Map<number, StoredRecord> {
    const records = this.#jobs.get(jobNo) ?? new Map<number, StoredRecord>();
    this.#jobs.set(jobNo, records);
    return records;
  }
}

/** An incarnation begins with the number that its keys have. */
function jobNoOf(incarnation: string): string {
  return incarnation.split('-')[0] ?? '';
}

function logWrite(key: Uint8Array, value: Uint8Array): LogWrite {
  const revision = Number(numberAt(key, 9));
  return { jobNo: numberAt(key, 1), revision, bytes: Buffer.from(value) };
}

function numberAt(key: Uint8Array, at: number): string {
  return Buffer.from(key).readBigUInt64BE(at).toString();
}
