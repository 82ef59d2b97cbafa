// Storage: batches per second buffered and synced, point reads and range reads.
//
// Keys have 16 bytes in random order, values 100 bytes, and a batch holds 10 of them: about what a slice writes for
// one request. Point and range reads cover 100,000 entries that LevelDB has compacted as far as it does by itself.
import type { AnyBench } from './bench.js';
import { defineBench } from './measure.js';
import {
  type BenchEntries,
  levelContestant,
  memoryContestant,
  plainLevelContestant,
  type StoreSubject,
} from './storage-contestants.js';

const BATCH_ENTRIES = 10;
const VALUE_BYTES = 100;
const STORED_ENTRIES = 100_000;
const contestants = [levelContestant, memoryContestant, plainLevelContestant] as const;

export const storageBenches: readonly AnyBench[] = [
  defineBench<StoreSubject>({
    name: 'storage-batches-buffered',
    unit: 'batches/s',
    about: 'batches of 10 entries, buffered, one after another',
    contestants,
    run: (subject, round) =>
      writeOneByOne(subject, round, { count: 3_000, durability: 'buffered' }),
  }),
  defineBench<StoreSubject>({
    name: 'storage-batches-synced',
    unit: 'batches/s',
    about: 'batches of 10 entries, synced, one after another',
    contestants,
    run: (subject, round) => writeOneByOne(subject, round, { count: 150, durability: 'synced' }),
  }),
  defineBench<StoreSubject>({
    name: 'storage-batches-synced-together',
    unit: 'batches/s',
    about: 'batches of 10 entries, synced, 64 at the same time',
    contestants,
    async run(subject, round) {
      for (let group = 0; group < 10; group += 1) {
        const batches = Array.from({ length: 64 }, (_, index) =>
          batchAt(round, group * 64 + index),
        );
        await Promise.all(batches.map((batch) => subject.write(batch, 'synced')));
      }
      return 640;
    },
  }),
  defineBench<StoreSubject>({
    name: 'storage-point-reads',
    unit: 'reads/s',
    about: 'get of random keys out of 100,000',
    contestants,
    prepare: store,
    async run(subject, round) {
      for (let read = 0; read < 50_000; read += 1) {
        const key = keyAt((Math.imul(read + round, 2_654_435_761) >>> 0) % STORED_ENTRIES);
        if (subject.get(key) === undefined) throw new Error('a stored key is missing');
      }
      return 50_000;
    },
  }),
  defineBench<StoreSubject>({
    name: 'storage-range-reads',
    unit: 'entries/s',
    about: 'one range over 100,000 entries, read in batches',
    contestants,
    prepare: store,
    run: (subject) => subject.scan(),
  }),
];

async function writeOneByOne(
  subject: StoreSubject,
  round: number,
  { count, durability }: { count: number; durability: 'buffered' | 'synced' },
): Promise<number> {
  for (let index = 0; index < count; index += 1) {
    await subject.write(batchAt(round, index), durability);
  }
  return count;
}

async function store(subject: StoreSubject): Promise<void> {
  for (let first = 0; first < STORED_ENTRIES; first += 1_000) {
    await subject.write(entriesFrom(first, 1_000), 'buffered');
  }
}

function batchAt(round: number, index: number): BenchEntries {
  return entriesFrom(round * 1_000_000 + index * BATCH_ENTRIES, BATCH_ENTRIES);
}

function entriesFrom(first: number, count: number): BenchEntries {
  return Array.from({ length: count }, (_, index) => [
    keyAt(first + index),
    valueAt(first + index),
  ]);
}

/** 16 bytes whose order differs from that of their numbers. */
function keyAt(number: number): Uint8Array {
  const key = new Uint8Array(16);
  const view = new DataView(key.buffer);
  view.setUint32(4, Math.imul(number + 1, 2_654_435_761) >>> 0);
  view.setUint32(8, number);
  return key;
}

/** A few values for all, created once, so that the time of a run is that of the store. Half of each compresses. */
const VALUES = Array.from({ length: 64 }, (_, number) => {
  const value = new Uint8Array(VALUE_BYTES);
  let state = number;
  for (let index = 0; index < VALUE_BYTES / 2; index += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    value[index] = state >>> 24;
  }
  return value;
});

function valueAt(number: number): Uint8Array {
  return VALUES[number % VALUES.length] ?? new Uint8Array(VALUE_BYTES);
}
