// Short helpers to write and read samples, for the cases of the storage suite.
import type { RangeOptions, Storage, StorageReads } from '../storage/storage.js';
import { StorageBatch } from '../storage/storage-batch.js';

export const BUFFERED = { durability: 'buffered' } as const;
export const SYNCED = { durability: 'synced' } as const;

/** Text as bytes, one per character: `\xff` is the highest. */
export function bytes(from: string): Uint8Array {
  return new Uint8Array(Buffer.from(from, 'latin1'));
}

export function text(from: Uint8Array | undefined): string | undefined {
  return from && Buffer.from(from).toString('latin1');
}

/** A key whose order is that of its number. */
export function numbered(index: number): string {
  return String(index).padStart(8, '0');
}

export function batchOf(entries: Readonly<Record<string, string>>): StorageBatch {
  const batch = new StorageBatch();
  for (const [key, value] of Object.entries(entries)) batch.put(bytes(key), bytes(value));
  return batch;
}

export async function put(
  storage: Storage,
  entries: Readonly<Record<string, string>>,
): Promise<void> {
  await storage.write(batchOf(entries), BUFFERED);
}

/** Writes `count` numbered keys, each with the same value. */
export async function putNumbered(storage: Storage, count: number, value: string): Promise<void> {
  const batch = new StorageBatch();
  for (let index = 0; index < count; index += 1) batch.put(bytes(numbered(index)), bytes(value));
  await storage.write(batch, BUFFERED);
}

export function valueAt(reads: StorageReads, key: string): string | undefined {
  return text(reads.get(bytes(key)));
}

export async function keysOf(reads: StorageReads, options?: RangeOptions): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of reads.range(options)) keys.push(text(key) ?? '');
  return keys;
}

export async function entriesOf(
  reads: StorageReads,
  options?: RangeOptions,
): Promise<Readonly<Record<string, string>>> {
  const entries: Record<string, string> = {};
  for await (const { key, value } of reads.range(options)) {
    entries[text(key) ?? ''] = text(value) ?? '';
  }
  return entries;
}
