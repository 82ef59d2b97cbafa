import {
  type RangeOptions,
  type Storage,
  type StorageReads,
  SynclineError,
} from '@syncline/kernel';
import { runInSimulation } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { ByteList } from './byte-list.js';
import { openEngine } from './open-engine.js';

const bytes = (text: string) => Buffer.from(text);
const list = (...texts: readonly string[]) => ByteList.of(...texts.map(bytes));

/** A store in which all keys of elements are damaged once it is told so. */
function damageable(storage: Storage) {
  const damage = { isThere: false };
  const check = (key: Uint8Array | undefined) => {
    if (damage.isThere && key?.[0] === 0x65)
      throw new SynclineError('corrupt', 'a checksum is wrong');
  };
  const damaged = <Reads extends StorageReads>(reads: Reads) => ({
    get(key: Uint8Array) {
      check(key);
      return reads.get(key);
    },
    range(options?: RangeOptions) {
      const range = reads.range(options);
      async function* batches() {
        check(options?.from);
        yield* range.batches();
      }
      return { batches, [Symbol.asyncIterator]: () => range[Symbol.asyncIterator]() };
    },
  });
  const of = (name: 'write' | 'secure' | 'health' | 'whenReadable' | 'close') =>
    storage[name].bind(storage);
  const store = {
    ...damaged(storage),
    write: of('write'),
    secure: of('secure'),
    health: of('health'),
    whenReadable: of('whenReadable'),
    close: of('close'),
    [Symbol.asyncDispose]: of('close'),
    snapshot() {
      const snapshot = storage.snapshot();
      const close = () => snapshot.close();
      return { ...damaged(snapshot), close, [Symbol.dispose]: close };
    },
  } as Storage;
  return { store, damage };
}

const reads = {
  'a member': async (engine: Awaited<ReturnType<typeof openEngine>>) => {
    engine.keyspace.has(list('a', 'x'), 0, 1);
  },
  'a set that is brought in': async (engine) => engine.keyspace.bringIn([bytes('a')]),
  'a view': async (engine) => {
    const view = await engine.keyspace.openView(new AbortController().signal);
    try {
      for await (const _ of view.members(bytes('a')));
    } finally {
      view.close();
    }
  },
} satisfies Record<string, (engine: Awaited<ReturnType<typeof openEngine>>) => Promise<void>>;

test.each(Object.keys(reads) as (keyof typeof reads)[])(
  'damage that is met by a read of %s stops all writing',
  (kind) =>
    runInSimulation(1, async (ports) => {
      const { store, damage } = damageable(await ports.openStorage('db'));
      const options = { nodeId: 1, clusterId: 'sim' };
      const before = await openEngine({ ...ports, storage: store }, options);
      before.keyspace.add(list('a', 'x'), 0, 1);
      await before.stop();
      const engine = await openEngine({ ...ports, storage: store }, options);
      expect(engine.failure).toBeUndefined();
      damage.isThere = true;
      await expect(reads[kind](engine)).rejects.toMatchObject({ code: 'corrupt' });
      expect(engine.failure?.code).toBe('corrupt');
      await expect(engine.keyspace.admit('write')).rejects.toMatchObject({ code: 'corrupt' });
      expect(() => engine.keyspace.add(list('b', 'x'), 0, 1)).toThrow('a checksum is wrong');
      await engine.stop();
    }),
);
