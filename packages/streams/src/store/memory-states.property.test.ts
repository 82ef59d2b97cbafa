// A store of state in memory, through hundreds of epochs: what a start reads is what the last durable epoch had.
import { createMemoryStorage, createSystemClock, StorageBatch } from '@syncline/kernel';
import { createSeededRandom } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import type { MemoryCells } from '../memory/memory-cells.js';
import { stringCodec } from '../state/codec.js';
import type { Key } from '../state/key.js';
import { aggregate } from '../state/state-backend.js';
import { createStateSchema } from '../state/state-schema.js';
import { type Head, storeKeys } from './layout.js';
import { MemoryStates, type StoredGroups } from './memory-states.js';
import { readTable } from './pipeline-states.js';

const UID = 'texts';
const KEYS = 120;
const EPOCHS = 300;

test('X40 T14 rewritten groups lose no entry and bring none back, also if epochs are abandoned in between', async () => {
  for (let seed = 1; seed <= 4; seed += 1) {
    const random = createSeededRandom(`memory-states/${seed}`);
    const schema = createStateSchema(UID, aggregate(stringCodec), 4) as never;
    const storage = createMemoryStorage();
    let head: Head | undefined;
    const open = async () => {
      const states = new MemoryStates(storage, createSystemClock());
      const declared = { schema, storedAs: UID, migrateFrom: [] };
      const cells = (await states.open(declared, head)) as unknown as MemoryCells<
        string,
        undefined
      >;
      return { states, cells };
    };
    let durable = new Map<Key, string>();
    let model = new Map<Key, string>();
    let { states, cells } = await open();
    for (let epoch = 1; epoch <= EPOCHS; ) {
      const remove = (key: Key) => {
        const slot = cells.edit(key);
        if (slot !== undefined) cells.remove(slot);
        model.delete(key);
      };
      if (random.float() < 0.05) for (const key of [...model.keys()]) remove(key);
      for (let writes = random.u32() % 60; writes > 0; writes -= 1) {
        const key = random.u32() % KEYS;
        if (random.float() < 0.2) {
          remove(key);
          continue;
        }
        const slot = cells.edit(key);
        const value = `${epoch}/${writes}`.repeat(1 + (random.u32() % 8));
        if (slot === undefined) cells.insert(key, value, undefined);
        else cells.change(slot, value, undefined);
        model.set(key, value);
      }
      const batch = new StorageBatch();
      states.capture();
      const tables = await states.encode(batch, epoch);
      const isAbandoned = random.float() < 0.1;
      if (!isAbandoned) {
        await storage.write(batch, { durability: 'synced' });
        await states.settle();
        head = { epoch, tables } as unknown as Head;
        durable = new Map(model);
        epoch += 1;
      }
      if (!isAbandoned && random.float() > 0.1) continue;
      model = new Map(durable);
      ({ states, cells } = await open());
      const found = Array.from(cells.entries(), ({ key, value }) => [key, value] as const);
      expect(new Map(found), `seed ${seed}, epoch ${epoch}`).toEqual(durable);
      if (head === undefined) continue;
      const groups = readTable(storage, UID, head)?.['groups'] as StoredGroups;
      const listed = Object.values(groups).reduce((sum, { length }) => sum + length, 0);
      let stored = 0;
      for await (const _ of storage.range(storeKeys.under('seg'))) stored += 1;
      expect(stored, `seed ${seed}, epoch ${epoch}`).toBe(listed);
    }
  }
});
