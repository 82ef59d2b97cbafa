// Streams: the cost of a state per event and per checkpoint, compared with a plain Map and JSON.
//
// 100,000 keys in random order, each counted. The Map is what a program would use if it never had to survive a crash,
// so the ratio is the price of being able to take a snapshot at any time. The snapshots hold the same 100,000 counts;
// JSON has neither checksums nor a defined order.
import { createMemoryStorage } from '@syncline/kernel';
import { createSeededRandom } from '@syncline/kernel/testing';
import {
  type AggregateBackend,
  aggregate,
  embeddedState,
  type Key,
  memoryState,
  numberCodec,
} from '@syncline/streams';
import type { AnyBench, Contestant } from './bench.js';
import { defineBench } from './measure.js';

const KEYS = 100_000;
const UPDATES_PER_RUN = 1_000_000;

const numberKeys: readonly Key[] = Array.from({ length: KEYS }, (_, index) => index);
const stringKeys: readonly Key[] = numberKeys.map((index) => `user-${index}`);
const order = randomOrder();

function randomOrder(): Uint32Array {
  const random = createSeededRandom('bench/streams-state');
  return Uint32Array.from({ length: UPDATES_PER_RUN }, () => random.u32() % KEYS);
}

const increment = (count = 0) => count + 1;

interface CountSubject {
  /** Counts `UPDATES_PER_RUN` events. */
  countAll(): void;
}

const nothingToClose = { async [Symbol.asyncDispose]() {} };

function stateContestant(
  name: string,
  keys: readonly Key[],
  open: () => Promise<AggregateBackend<Key, number>>,
): Contestant<CountSubject> {
  return {
    name,
    async open() {
      const state = await open();
      for (const key of keys) state.update(key, increment);
      const countAll = () => {
        for (const index of order) state.update(keys[index] as Key, increment);
      };
      return { countAll, ...nothingToClose };
    },
  };
}

function mapContestant(keys: readonly Key[]): Contestant<CountSubject> {
  return {
    name: 'Map',
    async open() {
      const counts = new Map<Key, number>();
      for (const key of keys) counts.set(key, 1);
      const countAll = () => {
        for (const index of order) {
          const key = keys[index] as Key;
          counts.set(key, increment(counts.get(key)));
        }
      };
      return { countAll, ...nothingToClose };
    },
  };
}

const openMemory = () => memoryState().open('bench', aggregate(numberCodec));
const openEmbedded = () =>
  embeddedState(createMemoryStorage()).open('bench', aggregate(numberCodec));

function updateBench(
  name: string,
  keys: readonly Key[],
  open: () => Promise<AggregateBackend<Key, number>>,
): AnyBench {
  return defineBench<CountSubject>({
    name,
    unit: 'updates/s',
    about: `counting per key, 100,000 ${typeof keys[0]} keys in random order, against a plain Map`,
    contestants: [stateContestant('state', keys, open), mapContestant(keys)],
    async run(subject) {
      subject.countAll();
      return UPDATES_PER_RUN;
    },
  });
}

interface SaveSubject {
  save(): Promise<void>;
  load(): Promise<void>;
}

const stateSaver: Contestant<SaveSubject> = {
  name: 'state',
  async open() {
    const state = await openMemory();
    for (const key of stringKeys) state.update(key, increment);
    let snapshot = await state.snapshot();
    return {
      async save() {
        snapshot = await state.snapshot();
      },
      load: () => state.restore(snapshot),
      ...nothingToClose,
    };
  },
};

const jsonSaver: Contestant<SaveSubject> = {
  name: 'JSON',
  async open() {
    let counts = new Map(stringKeys.map((key) => [key, 1]));
    let text = JSON.stringify([...counts]);
    return {
      async save() {
        text = JSON.stringify([...counts]);
      },
      async load() {
        counts = new Map(JSON.parse(text) as [Key, number][]);
      },
      ...nothingToClose,
    };
  },
};

export const streamsStateBenches: readonly AnyBench[] = [
  updateBench('streams-update-numbers', numberKeys, openMemory),
  updateBench('streams-update-strings', stringKeys, openMemory),
  updateBench('streams-update-embedded', stringKeys, openEmbedded),
  defineBench<SaveSubject>({
    name: 'streams-snapshot',
    unit: 'entries/s',
    about: 'a snapshot of 100,000 counts in memory, against a Map as JSON',
    contestants: [stateSaver, jsonSaver],
    async run(subject) {
      await subject.save();
      return KEYS;
    },
  }),
  defineBench<SaveSubject>({
    name: 'streams-restore',
    unit: 'entries/s',
    about: 'restoring 100,000 counts in memory, against a Map from JSON',
    contestants: [stateSaver, jsonSaver],
    async run(subject) {
      await subject.load();
      return KEYS;
    },
  }),
];
