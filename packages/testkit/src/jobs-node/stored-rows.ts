// Rows in the storage that belong to no job, by their keys alone: kind, then the number of the job.
import type { Storage } from '@syncline/kernel';

const JOB = 'n';
const HEAD = 'h';
const DELETED = 'x';
/** Kinds of rows that belong to the whole store. */
const SHARED = ['s', 'u'];

export async function rowsOfGoneJobs(storage: Storage): Promise<readonly string[]> {
  const rows: { readonly kind: string; readonly jobNo: string }[] = [];
  let jobsCount = 0;
  for await (const entries of storage.range().batches()) {
    for (const { key } of entries) {
      const kind = String.fromCharCode(key[0] ?? 0);
      if (kind === JOB) jobsCount += 1;
      else if (!SHARED.includes(kind))
        rows.push({ kind, jobNo: Buffer.from(key).readBigUInt64BE(1).toString() });
    }
  }
  const heads = rows.filter(({ kind }) => kind === HEAD).map(({ jobNo }) => jobNo);
  const isEachAlive = heads.length === jobsCount;
  return rows
    .filter(({ kind, jobNo }) => kind === DELETED || !heads.includes(jobNo) || !isEachAlive)
    .map(({ kind, jobNo }) => `${kind} ${jobNo}`);
}
