// Random commands, commits, failures, folds, loads and restarts on one node, against the plain sets.
//
// After every step memory answers as the plain sets do, and after every fold the storage holds, key by key,
// what the plain sets were after the commit that was folded last.
import {
  type ActorId,
  actorId,
  createMemoryStorage,
  dot,
  type RangeOptions,
  type Storage,
  StorageBatch,
  type StorageEntry,
} from '@syncline/kernel';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ByteList } from '../byte-list.js';
import { createOrderKeys } from '../memory/order-hash.js';
import type { FoldBatch } from './fold-batch.js';
import { readFold } from './fold-record.js';
import { foldedVersion } from './folded-version.js';
import type { MemorySet } from './memory-set.js';
import { type JournalRecord, SetsState } from './sets-state.js';
import { elementRange, journalKey, journalNumberOf, KeyKind, kindRange } from './storage-keys.js';
import { linesOf, type PlainElement, PlainSets } from './testing/plain-sets.js';

const keys = createOrderKeys('test');
const setNames = ['a', ''];
const members = ['', 'x', 'y', 'a longer member'];

interface Change {
  readonly kind: 'add' | 'remove';
  readonly set: number;
  readonly member: number;
}

type Step =
  | {
      readonly kind: 'operation';
      readonly changes: readonly Change[];
      readonly isAbandoned: boolean;
    }
  | { readonly kind: 'commit' | 'settle' | 'fail' | 'fold' | 'finishFold' | 'restart' }
  | { readonly kind: 'load'; readonly set: number }
  | { readonly kind: 'finishLoad'; readonly set: number }
  | { readonly kind: 'unload'; readonly set: number };

const changes = fc.record<Change>({
  kind: fc.constantFrom('add', 'add', 'remove'),
  set: fc.nat(setNames.length - 1),
  member: fc.nat(members.length - 1),
});
const operations = fc.record<Step & { kind: 'operation' }>({
  kind: fc.constant('operation'),
  changes: fc.array(changes, { minLength: 1, maxLength: 5 }),
  isAbandoned: fc.nat(9).map((chance) => chance === 0),
});
const steps = fc.oneof(
  { weight: 6, arbitrary: operations },
  {
    weight: 9,
    arbitrary: fc.record({
      kind: fc.constantFrom('commit', 'commit', 'settle', 'settle', 'fail', 'fold', 'finishFold'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom('load', 'finishLoad', 'unload'),
      set: fc.nat(setNames.length - 1),
    }),
  },
) as fc.Arbitrary<Step>;

/** One node, its disk, and the plain sets after each commit that could still matter. */
class World {
  readonly #storage: Storage = createMemoryStorage();
  readonly #names = ByteList.of(...setNames.map((name) => Buffer.from(name)));
  readonly #members = ByteList.of(...members.map((member) => Buffer.from(member)));
  readonly #loads = new Map<number, { set: MemorySet; entries: readonly StorageEntry[] }>();
  readonly #inFlight: JournalRecord[] = [];
  /** By the number of the commit behind which they were so. */
  readonly #history = new Map<number, PlainSets>([[0, new PlainSets()]]);
  #plain = new PlainSets();
  #state: SetsState;
  #fold: FoldBatch | undefined;
  #epoch = 0;

  constructor() {
    this.#state = new SetsState(
      { storage: this.#storage },
      { keys, fold: readFold(this.#storage), version: foldedVersion([]), generationEntriesMax: 3 },
    );
    this.#state.useActor(this.#actor);
  }

  get #actor(): ActorId {
    return actorId(0xffff, 0xffff - this.#epoch);
  }

  async run(step: Step): Promise<void> {
    if (step.kind === 'operation') this.#operate(step.changes, step.isAbandoned);
    else if (step.kind === 'commit') this.#commit();
    else if (step.kind === 'settle') this.#settle();
    else if (step.kind === 'fail') this.#fail();
    else if (step.kind === 'fold') this.#fold ??= this.#startFold();
    else if (step.kind === 'finishFold') await this.#finishFold();
    else if (step.kind === 'restart') await this.#restart();
    else if (step.kind === 'load') await this.#load(step.set);
    else if (step.kind === 'finishLoad') this.#finishLoad(step.set);
    else if (step.kind === 'unload') this.#unload(step.set);
    this.#compare();
  }

  #operate(list: readonly Change[], isAbandoned: boolean): void {
    const before = this.#plain.copy();
    const touched: PlainElement[] = [];
    const added = new Set<string>();
    this.#state.begin();
    for (const { kind, set, member } of list) {
      const element = { set: setNames[set] ?? '', member: members[member] ?? '' };
      const isPresent = this.#plain.has(element);
      const memorySet = this.#state.setOf(this.#names, set);
      this.#state.begin(); // pairs may be nested, as commands are in a transaction
      if (kind === 'add') {
        expect(this.#state.add(memorySet, this.#members, member)).toBe(!isPresent);
        added.add(JSON.stringify(element));
        this.#plain.write(element, [dot(this.#actor, 2 ** 40)]);
      } else {
        expect(this.#state.remove(memorySet, this.#members, member)).toBe(isPresent);
        added.delete(JSON.stringify(element));
        this.#plain.write(element, []);
      }
      if (this.#state.end() !== 0) throw new Error('an inner end ends nothing');
      const isFirst = !touched.some((other) => JSON.stringify(other) === JSON.stringify(element));
      if (isFirst && (kind === 'add' || isPresent)) touched.push(element);
    }
    if (isAbandoned) {
      this.#state.abandon();
      this.#plain = before;
      return;
    }
    const base = before.version.counterOf(this.#actor) + 1;
    const news = touched.filter((element) => added.has(JSON.stringify(element)));
    for (const [index, element] of news.entries()) {
      this.#plain.write(element, [dot(this.#actor, base + index)]);
    }
    const removed = touched.filter((element) => before.has(element) && !this.#plain.has(element));
    expect(this.#state.end()).toBe(news.length + removed.length);
    if (news.length + removed.length > 0) {
      this.#plain.version.advance(this.#actor, base + Math.max(1, news.length) - 1);
    }
  }

  #commit(): void {
    const record = this.#state.takeRecord();
    if (record === undefined) return;
    this.#history.set(record.number, this.#plain.copy());
    this.#inFlight.push(record);
  }

  #settle(): void {
    const record = this.#inFlight.shift();
    if (record === undefined) return;
    this.#write(new StorageBatch().put(journalKey(record.number), record.bytes));
    this.#state.settled(record.number);
  }

  #fail(): void {
    const number = this.#inFlight[0]?.number ?? this.#state.gatheringNumber;
    this.#inFlight.length = 0;
    this.#state.undoFrom(number);
    this.#plain = this.#history.get(number - 1)?.copy() ?? new PlainSets();
  }

  #startFold(): FoldBatch | undefined {
    const fold = this.#state.nextFold();
    fold?.advance(2);
    return fold;
  }

  async #finishFold(): Promise<void> {
    const fold = this.#fold ?? this.#startFold();
    this.#fold = undefined;
    if (fold === undefined) return;
    while (!fold.advance(1));
    this.#write(fold.batch);
    this.#state.folded(fold);
    const plain = this.#history.get(fold.number) ?? new PlainSets();
    const content = (await this.#read({})).filter(({ key }) => key[0] !== KeyKind.journal);
    expect(linesOf(content)).toEqual(plain.storageLines(keys, fold.number));
    const journal = await this.#read(kindRange(KeyKind.journal));
    expect(journal.every(({ key }) => journalNumberOf(key) > fold.number)).toBe(true);
  }

  /** What was not stored is gone, so there is a new actor. */
  async #restart(): Promise<void> {
    this.#inFlight.length = 0;
    this.#fold = undefined;
    this.#loads.clear();
    const version = foldedVersion(await this.#read(kindRange(KeyKind.version)));
    const options = { keys, fold: readFold(this.#storage), version, generationEntriesMax: 3 };
    this.#state = new SetsState({ storage: this.#storage }, options);
    for (const { key, value } of await this.#read(kindRange(KeyKind.journal))) {
      Array.from(this.#state.replay(journalNumberOf(key), value));
    }
    this.#plain = this.#history.get(this.#state.gatheringNumber - 1)?.copy() ?? new PlainSets();
    this.#epoch += 1;
    this.#state.useActor(this.#actor);
  }

  async #load(index: number): Promise<void> {
    const set = this.#state.setOf(this.#names, index);
    if (set.isWhole || set.isLoading) return;
    const entries = await this.#read(elementRange(set.name));
    this.#state.startLoading(set);
    this.#loads.set(index, { set, entries });
  }

  #finishLoad(index: number): void {
    const load = this.#loads.get(index);
    this.#loads.delete(index);
    if (load === undefined) return;
    for (const entry of load.entries) this.#state.load(load.set, entry);
    this.#state.finishLoading(load.set);
  }

  #unload(index: number): void {
    const set = this.#state.setOf(this.#names, index);
    if (set.isLoading) return;
    while (!this.#state.unload(set, 1));
  }

  #compare(): void {
    const present = [...setNames.keys()].map((index) => {
      const set = this.#state.setOf(this.#names, index);
      const found = members.filter((_, member) => this.#state.has(set, this.#members, member));
      return `${set.cardinality} ${found.join()}`;
    });
    const isFolded = this.#state.foldedNumber === this.#state.gatheringNumber - 1;
    if (isFolded && !this.#state.isGathering) expect(this.#state.headEntries).toBe(0);
    for (const index of this.#state.headEntries === 0 ? setNames.keys() : []) {
      const set = this.#state.setOf(this.#names, index);
      const rows = set.isWhole ? set.cardinality : 0;
      if (!set.isLoading) expect(set.table.size, 'rows that are of no use are gone').toBe(rows);
    }
    const { liveDots, xor, version } = this.#state.digest();
    const digest = `${liveDots}:${xor[0]}:${xor[1]}`;
    expect([present, digest, version.toString(), this.#state.setsCount]).toEqual([
      setNames.map((set) => {
        const wanted = members.filter((member) => this.#plain.has({ set, member }));
        return `${this.#plain.cardinality(set)} ${wanted.join()}`;
      }),
      this.#plain.digest(keys),
      this.#plain.version.toString(),
      this.#plain.setNames().length,
    ]);
  }

  #write(batch: StorageBatch): void {
    void this.#storage.write(batch, { durability: 'synced' }); // in memory it takes effect at once
  }

  async #read(range: RangeOptions): Promise<readonly StorageEntry[]> {
    const entries: StorageEntry[] = [];
    for await (const entry of this.#storage.range(range)) entries.push(entry);
    return entries;
  }
}

test('S2 S4 S7 memory is as the tag model after each step, and so is the storage after each fold', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { maxLength: 60, size: 'max' }), async (list) => {
      const world = new World();
      for (const step of list) await world.run(step);
    }),
    { numRuns: 100 },
  );
});
