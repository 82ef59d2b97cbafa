import {
  actorId,
  createMemoryStorage,
  type Storage,
  StorageBatch,
  type StorageEntry,
  VersionVector,
} from '@syncline/kernel';
import { expect, test } from 'vitest';
import { ByteList } from '../byte-list.js';
import { setsLimits } from '../limits.js';
import { createOrderKeys } from '../memory/order-hash.js';
import { decodeOperations } from '../operation/decode-operations.js';
import { newFold, readFold } from './fold-record.js';
import { SetsState } from './sets-state.js';
import { KeyKind, kindRange } from './storage-keys.js';

const keys = createOrderKeys('test');
const actor = actorId(7, 1);

/** A state with short ways to change and to ask, and a storage that counts its reads. */
class Subject {
  readonly storage: Storage = createMemoryStorage();
  readonly state: SetsState;
  reads = 0;

  constructor(from?: Subject) {
    this.storage = from?.storage ?? this.storage;
    const get = (key: Uint8Array) => {
      this.reads += 1;
      return this.storage.get(key);
    };
    const version = from?.state.version() ?? new VersionVector();
    const fold = from === undefined ? newFold() : readFold(this.storage);
    this.state = new SetsState({ storage: { get } }, { keys, fold, version });
    this.state.useActor(actor);
  }

  set(name: string) {
    return this.state.setOf(ByteList.of(Buffer.from(name)), 0);
  }

  has(name: string, member: string): boolean {
    return this.state.has(this.set(name), ByteList.of(Buffer.from(member)), 0);
  }

  add(name: string, ...members: readonly string[]): number {
    return this.#change(name, members, (set, list, index) => this.state.add(set, list, index));
  }

  remove(name: string, ...members: readonly string[]): number {
    return this.#change(name, members, (set, list, index) => this.state.remove(set, list, index));
  }

  /** What the record being gathered holds, and settles it. */
  commit(): readonly string[] {
    const record = this.state.takeRecord();
    if (record === undefined) return [];
    this.state.settled(record.number);
    const lines: string[] = [];
    for (const operation of decodeOperations(record.bytes)) {
      const texts = Array.from({ length: operation.members.length }, (_, index) => {
        const set = operation.sets.text(operation.setOf(index));
        const counter = operation.counterOf(index);
        return `${counter > 0 ? `+${counter}` : '-'} ${set}/${operation.members.text(index)}`;
      });
      lines.push(`${operation.base}..${operation.base + operation.count - 1}: ${texts.join(', ')}`);
    }
    return lines;
  }

  /** Gives the sizes of the batches. */
  fold(): readonly number[] {
    const sizes: number[] = [];
    for (let fold = this.state.nextFold(); fold !== undefined; fold = this.state.nextFold()) {
      while (!fold.advance(10));
      void this.storage.write(fold.batch, { durability: 'synced' });
      sizes.push(fold.batch.bytes);
      this.state.folded(fold);
    }
    return sizes;
  }

  async storedElements(): Promise<readonly StorageEntry[]> {
    const entries: StorageEntry[] = [];
    for await (const entry of this.storage.range(kindRange(KeyKind.element))) entries.push(entry);
    return entries;
  }

  #change(
    name: string,
    members: readonly string[],
    change: (...args: Parameters<SetsState['add']>) => boolean,
  ): number {
    const set = this.set(name);
    const list = ByteList.of(...members.map((member) => Buffer.from(member)));
    let count = 0;
    this.state.begin();
    for (const index of members.keys()) count += change(set, list, index) ? 1 : 0;
    this.state.end();
    return count;
  }
}

test('S3 members take dots in the order of first appearance; repeats take none', () => {
  const subject = new Subject();
  expect(subject.add('s', 'b', 'a', 'b')).toBe(2);
  expect(subject.add('s', 'c', 'a')).toBe(1);
  expect(subject.commit()).toEqual(['1..2: +1 s/b, +2 s/a', '3..4: +3 s/c, +4 s/a']);
  expect(subject.set('s').cardinality).toBe(3);
  expect(subject.state.lastCounter).toBe(4);
});

test('S3 a remove takes one counter, and none when nothing was present', () => {
  const subject = new Subject();
  subject.add('s', 'a', 'b');
  expect(subject.remove('s', 'a', 'b', 'c')).toBe(2);
  expect(subject.remove('s', 'a')).toBe(0);
  expect(subject.commit()).toEqual(['1..2: +1 s/a, +2 s/b', '3..3: - s/a, - s/b']);
  expect(subject.remove('s', 'a')).toBe(0);
  expect(subject.state.takeRecord()).toBeUndefined();
});

test('nested pairs are one operation, and only its net effect is in it', () => {
  const subject = new Subject();
  subject.add('from', 'm', 'gone');
  subject.commit();
  subject.state.begin();
  subject.remove('from', 'm');
  subject.add('to', 'm'); // a move
  subject.add('to', 'fleeting');
  subject.remove('to', 'fleeting');
  subject.remove('from', 'gone');
  subject.add('from', 'gone'); // first touched by its removal
  expect(subject.state.end()).toBe(3);
  expect(subject.commit()).toEqual(['3..4: - from/m, +3 to/m, +4 from/gone']);
});

test('what comes to nothing is no operation, and nobody waits for it', () => {
  const subject = new Subject();
  subject.state.begin();
  subject.add('s', 'a');
  subject.remove('s', 'a');
  expect(subject.state.end()).toBe(0);
  expect(subject.state.isGathering).toBe(false);
  expect(subject.set('s').commit).toBeLessThan(subject.state.gatheringNumber);
  expect([subject.state.headEntries, subject.set('s').table.size]).toEqual([0, 0]);
});

test('an operation that is abandoned leaves nothing behind', () => {
  const subject = new Subject();
  subject.add('s', 'a');
  subject.commit();
  const before = subject.state.digest();
  subject.state.begin();
  subject.add('s', 'b');
  subject.remove('s', 'a');
  subject.state.abandon();
  expect([subject.has('s', 'a'), subject.has('s', 'b')]).toEqual([true, false]);
  expect(subject.state.digest()).toEqual(before);
  expect(subject.commit()).toEqual([]);
  expect(subject.state.headEntries, 'the entry of what is not folded stays').toBe(1);
  subject.fold();
  subject.state.begin();
  subject.add('s', 'b');
  subject.remove('s', 'a');
  subject.state.abandon();
  expect([subject.state.headEntries, subject.set('s').table.size]).toEqual([0, 1]);
});

test('S7 a failed commit takes later ones with it, and its counters are used again', () => {
  const subject = new Subject();
  subject.add('s', 'a');
  subject.commit();
  subject.add('s', 'b');
  const failed = subject.state.takeRecord();
  subject.remove('s', 'a');
  expect(subject.set('s').commit).toBe(3);
  subject.state.undoFrom(failed?.number ?? 0);
  expect([subject.has('s', 'a'), subject.has('s', 'b')]).toEqual([true, false]);
  expect(subject.set('s').commit).toBe(1);
  expect(subject.state.gatheringNumber).toBe(2);
  subject.add('s', 'c');
  expect(subject.commit()).toEqual(['2..2: +2 s/c']);
});

test('S7 what was taken back is in no head: commits that fail one after another do not fill it', () => {
  const subject = new Subject();
  for (let round = 0; round < 3; round += 1) {
    subject.add('s', 'a', 'b');
    const failed = subject.state.takeRecord();
    subject.add('s', 'c');
    subject.state.undoFrom(failed?.number ?? 0);
    expect([subject.state.headEntries, subject.state.headBytes]).toEqual([0, 0]);
    expect(subject.set('s').table.size).toBe(0);
  }
  expect(subject.state.nextFold()).toBeUndefined();
});

test('S16 one read per set, one per member, and none once a set is whole', async () => {
  const before = new Subject();
  before.add('s', ...Array.from({ length: 1_000 }, (_, index) => `m${index}`));
  before.commit();
  before.fold();
  const subject = new Subject(before);
  const readsOf = (action: () => void) => {
    subject.reads = 0;
    action();
    return subject.reads;
  };
  expect(readsOf(() => subject.has('s', 'm1'))).toBe(2); // the set, the member
  expect(readsOf(() => subject.has('s', 'absent'))).toBe(1);
  expect(readsOf(() => subject.add('s', 'm1', 'new', 'm1'))).toBe(2);
  expect(readsOf(() => subject.remove('s', 'm2', 'nobody'))).toBe(2);
  expect(readsOf(() => subject.has('s', 'm2'))).toBe(0); // not folded yet, so at hand
  expect(readsOf(() => subject.add('born here', 'a', 'b'))).toBe(1);
  expect(readsOf(() => subject.has('born here', 'c'))).toBe(0);
});

test('what is being loaded takes changes, and they win over what the snapshot holds', async () => {
  const before = new Subject();
  before.add('s', 'a', 'b', 'c');
  before.commit();
  before.fold();
  const subject = new Subject(before);
  const set = subject.set('s');
  const entries = await subject.storedElements();
  subject.state.startLoading(set);
  subject.remove('s', 'a');
  subject.add('s', 'd');
  subject.commit();
  subject.fold(); // the snapshot is now older than the storage
  for (const entry of entries) subject.state.load(set, entry);
  subject.state.finishLoading(set);
  subject.reads = 0;
  expect(['a', 'b', 'c', 'd'].map((member) => subject.has('s', member))).toEqual([
    false,
    true,
    true,
    true,
  ]);
  expect([subject.reads, set.table.size, set.cardinality]).toEqual([0, 3, 3]);
});

test('a set that is let go by two at once is forgotten once, and its name may come back meanwhile', async () => {
  const before = new Subject();
  before.add('s', 'a', 'b');
  before.commit();
  before.fold();
  const subject = new Subject(before);
  const set = subject.set('s');
  subject.state.startLoading(set);
  for (const entry of await subject.storedElements()) subject.state.load(set, entry);
  expect(subject.state.abandonLoading(set, 1)).toBe(false);
  expect(subject.state.unload(set, 10)).toBe(true);
  const back = subject.set('s');
  expect(subject.state.abandonLoading(set, 1)).toBe(true);
  expect([subject.set('s') === back, subject.state.registry.size]).toEqual([true, 1]);
});

test('a set of which nothing is left leaves memory with the fold', () => {
  const subject = new Subject();
  subject.add('s', 'a');
  subject.commit();
  subject.remove('s', 'a');
  subject.commit();
  expect([subject.state.registry.size, subject.state.headEntries]).toEqual([1, 1]);
  subject.fold();
  expect([subject.state.registry.size, subject.state.headEntries]).toEqual([0, 0]);
  expect([subject.state.headBytes, subject.state.setsCount]).toEqual([0, 0]);
});

test('a batch of a fold ends behind a mebibyte, and names of sets count once per member', () => {
  const subject = new Subject();
  const batchBytes = (name: string, memberBytes: number) => {
    for (let index = 0; index < 40; index += 1) {
      subject.add(name, String(index).padStart(memberBytes, '-'));
      subject.commit();
    }
    return subject.fold();
  };
  const { value: batchBytesMax } = setsLimits.foldBatchBytesMax;
  for (const sizes of [batchBytes('s', 60_000), batchBytes('s'.repeat(4_000), 40_000)]) {
    expect(sizes.length).toBeGreaterThan(1);
    expect(Math.max(...sizes)).toBeLessThan(1.2 * batchBytesMax);
  }
  expect(batchBytes('t', 10).length).toBe(1);
});

test('watchers are told of visible changes, not of new dots', () => {
  const subject = new Subject();
  subject.add('s', 'a');
  const watcher = { isTouched: false };
  subject.set('s').watchers = new Set([watcher]);
  subject.add('s', 'a');
  expect(watcher.isTouched).toBe(false);
  subject.add('s', 'b');
  expect(watcher.isTouched).toBe(true);
});

test('an operation says when it has no room: at its elements and at its bytes', () => {
  const subject = new Subject();
  const elementsMax = setsLimits.operationElementsMax.value;
  const fill = (memberBytes: number) => {
    const set = subject.set('s');
    const list = ByteList.of(new Uint8Array(memberBytes));
    let count = 0;
    subject.state.begin();
    while (subject.state.hasRoom(set, memberBytes)) {
      list.view.setUint32(0, count);
      subject.state.add(set, list, 0);
      count += 1;
    }
    expect(subject.state.end()).toBe(count);
    return count;
  };
  expect(fill(4)).toBe(elementsMax);
  const large = fill(60_000);
  expect(large).toBeGreaterThan(60);
  const record = subject.state.takeRecord();
  expect(record?.bytes.length).toBeLessThan(2 * setsLimits.operationBytesMax.value);
});

test('a record that does not follow on the last one is refused', () => {
  const writer = new Subject();
  writer.add('s', 'a');
  writer.commit();
  writer.add('s', 'b');
  const second = writer.state.takeRecord();
  const reader = new SetsState(
    { storage: createMemoryStorage() },
    { keys, fold: newFold(), version: new VersionVector() },
  );
  expect(() => Array.from(reader.replay(1, second?.bytes ?? new Uint8Array()))).toThrow(
    'an operation of 7.1 begins with counter 2, but 0 is the last one applied',
  );
});

test('a fold record of another format is refused', async () => {
  const storage = createMemoryStorage();
  const batch = new StorageBatch().put(Buffer.from('f'), new Uint8Array(33));
  await storage.write(batch, { durability: 'synced' });
  expect(() => readFold(storage)).toThrow('format 0');
});
