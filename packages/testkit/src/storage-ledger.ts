// A ledger: numbered batches that can prove, after a crash, that none is missing and none is torn.
//
// Batch n writes its number under three keys that lie far apart, and as the last number. Since batches are written in
// order, the numbers 1 to `last` must be found in all three places.
import assert from 'node:assert/strict';
import { StorageBatch, type StorageReads } from '@syncline/kernel';

const PLACES = ['a', 'm', 'z'] as const;
const LAST = Buffer.from('last');

/** `valueBytes` is the size of each of the three values; it may differ from batch to batch. */
export function ledgerBatch(number: number, valueBytes: number): StorageBatch {
  const batch = new StorageBatch();
  const content = contentOf(number, valueBytes);
  for (const place of PLACES) batch.put(keyOf(place, number), content);
  return batch.put(LAST, Buffer.from(String(number)));
}

export function lastInLedger(reads: StorageReads): number {
  const last = reads.get(LAST);
  return last ? Number(Buffer.from(last).toString()) : 0;
}

/** Throws unless exactly the batches 1 to `last` are there, complete. */
export async function checkLedger(reads: StorageReads): Promise<void> {
  const last = lastInLedger(reads);
  for (const place of PLACES) {
    let number = 0;
    for await (const { key, value } of reads.range({ from: keyOf(place, 0), to: endOf(place) })) {
      number += 1;
      assert.equal(Buffer.from(key).toString(), keyOf(place, number).toString());
      assert.ok(Buffer.from(contentOf(number, value.length)).equals(value), `${place}: ${number}`);
    }
    assert.equal(number, last, `numbers under ${place}`);
  }
}

function keyOf(place: string, number: number): Buffer {
  return Buffer.from(`${place}/${String(number).padStart(9, '0')}`);
}

function endOf(place: string): Buffer {
  return Buffer.from(`${place}0`); // the byte after `/`
}

/** Incompressible, and different for each number. */
function contentOf(number: number, bytes: number): Uint8Array {
  const words = new Uint32Array(Math.ceil(bytes / 4));
  let state = number; // never 0, which a xorshift would not leave
  for (let index = 0; index < words.length; index += 1) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    words[index] = state;
  }
  return new Uint8Array(words.buffer, 0, bytes);
}
