import { describe, expect, it } from 'vitest';
import { StorageBatch } from './storage-batch.js';

const one = Uint8Array.of(1);
const two = Uint8Array.of(2, 2);

describe('StorageBatch', () => {
  it('K11 keeps the operations in their order, empty keys and values included', () => {
    const batch = new StorageBatch()
      .put(one, two)
      .delete(two)
      .put(new Uint8Array(0), new Uint8Array(0));
    expect(batch.operations).toEqual([
      { kind: 'put', key: one, value: two },
      { kind: 'delete', key: two },
      { kind: 'put', key: new Uint8Array(0), value: new Uint8Array(0) },
    ]);
    expect([batch.length, batch.bytes]).toEqual([3, 5]);
  });

  it('K13 shares no bytes with its writer or its readers', () => {
    const key = one.slice();
    const value = two.slice();
    const batch = new StorageBatch().put(key, value);
    const [operation] = batch.operations;
    key.fill(9);
    value.fill(9);
    expect(batch.operations).toEqual([{ kind: 'put', key: one, value: two }]);
    batch.content.fill(8);
    expect(operation).toEqual({ kind: 'put', key: one, value: two });
  });

  it('takes operations that are written in place, while it grows', () => {
    const batch = new StorageBatch();
    for (let index = 0; index < 300; index += 1) {
      const at = batch.reservePut(1, 2);
      batch.content[at] = index;
      batch.content.fill(index + 1, at + 1, at + 3);
      const deleteAt = batch.reserveDelete(1);
      batch.content[deleteAt] = index + 2;
    }
    expect(batch.operations.slice(-2)).toEqual([
      { kind: 'put', key: Uint8Array.of(299), value: Uint8Array.of(300, 300) },
      { kind: 'delete', key: Uint8Array.of(301) },
    ]);
  });

  it('is empty and may be filled again after `clear`', () => {
    const batch = new StorageBatch().put(one, two);
    batch.clear();
    expect([batch.length, batch.bytes, batch.operations]).toEqual([0, 0, []]);
    expect(batch.delete(two).operations).toEqual([{ kind: 'delete', key: two }]);
  });
});
