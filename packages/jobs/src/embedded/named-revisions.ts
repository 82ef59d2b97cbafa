// The revisions that the rows of a job name: those of the records that are the latest of their key.
//
// It is asked for when a record is damaged, so that nobody can tell its key: if no row names it, it was replaced,
// and whoever wants the latest of each key misses nothing.
import type { StorageReads } from '@syncline/kernel';
import { jobRange, KeyKind } from './keys.js';
import { decodeCellPlace, decodeTask } from './row-codec.js';

/** Throws `corrupt` if a row that names one is damaged itself. */
export async function namedRevisions(
  reads: StorageReads,
  jobNo: number,
  { withLeases }: { readonly withLeases: boolean },
): Promise<Set<number>> {
  const revisions = new Set<number>();
  for await (const entries of reads.range(jobRange(KeyKind.cell, jobNo)).batches()) {
    for (const { key, value } of entries) revisions.add(decodeCellPlace(key, value).revision);
  }
  if (!withLeases) return revisions;
  for await (const entries of reads.range(jobRange(KeyKind.task, jobNo)).batches()) {
    for (const { key, value } of entries) revisions.add(decodeTask(key, value, 0).revision);
  }
  return revisions;
}
