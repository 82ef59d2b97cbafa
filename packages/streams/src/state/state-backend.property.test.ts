// One plain model compared with every backend: any sequence of calls gives the same results, the same errors and, at
// any time, the same snapshot bytes.
import { createMemoryStorage } from '@syncline/kernel';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type EmbeddedState, embeddedState } from '../embedded/embedded-state.js';
import { memoryState } from '../memory/memory-state.js';
import { stringCodec } from './codec.js';
import { jsonCodec } from './json-codec.js';
import type { Key } from './key.js';
import {
  type AggregateBackend,
  aggregate,
  type StateBackend,
  type StateDescription,
  versioned,
} from './state-backend.js';
import type { LogicalTime } from './version.js';

const keys = fc.constantFrom<Key>('a', 'b', '', 1, -1, 1n, '1');
const values = fc.constantFrom('x', 'y', 'a longer value that takes more of the cache');
const versions: fc.Arbitrary<LogicalTime> = fc.record(
  {
    epoch: fc.integer({ min: 0, max: 2 }),
    round: fc.integer({ min: 0, max: 2 }),
    origin: fc.constantFrom('', 'p'),
    index: fc.integer({ min: 0, max: 1 }),
  },
  { requiredKeys: ['epoch', 'round'] },
);

/** What a backend does besides holding state: nothing, or flushing and reopening. */
interface Rig<Backend> {
  readonly name: string;
  backend: Backend;
  flush(): Promise<void>;
  reopen(): Promise<void>;
}

type Opener = <Backend>(description: StateDescription) => Promise<Rig<Backend>>;

const openMemory: Opener = async <Backend>(description: StateDescription) => ({
  name: 'memory',
  backend: (await memoryState().open('s', description)) as Backend,
  flush: async () => {},
  reopen: async () => {},
});

/** With a small cache nearly every cell is evicted as soon as it is clean. */
function embeddedOpener(cacheBytesMax: number): Opener {
  return async <Backend>(description: StateDescription) => {
    const storage = createMemoryStorage();
    let store: EmbeddedState = embeddedState(storage, { cacheBytesMax });
    const rig: Rig<Backend> = {
      name: `embedded, cache of ${cacheBytesMax} bytes`,
      backend: (await store.open('s', description)) as Backend,
      flush: () => store.flush(),
      async reopen() {
        await store.flush();
        store = embeddedState(storage, { cacheBytesMax });
        rig.backend = (await store.open('s', description)) as Backend;
      },
    };
    return rig;
  };
}

const openers = [openMemory, embeddedOpener(1 << 20), embeddedOpener(8_000)];

/** The result of a call, or the code of its error. */
function outcomeOf(call: () => unknown): unknown {
  try {
    return call();
  } catch (thrown) {
    return (thrown as { code: string }).code;
  }
}

async function settledOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => 'done',
    (thrown: { code: string }) => thrown.code,
  );
}

/** A step of a run. It is applied to all rigs, and returns what they must agree on. */
type Step<Backend, Model> = {
  readonly label: string;
  readonly real: (rig: Rig<Backend>) => unknown;
  /** Omitted if the model has no result to compare: flushing, and snapshots, which are compared with each other. */
  readonly model?: (model: Model) => unknown;
};

async function run<Backend, Model>(
  description: StateDescription,
  model: Model,
  steps: readonly Step<Backend, Model>[],
): Promise<void> {
  const rigs: Rig<Backend>[] = [];
  for (const open of openers) rigs.push(await open<Backend>(description));
  for (const [index, { label, real, model: modelled }] of steps.entries()) {
    const answers: unknown[] = [];
    for (const rig of rigs) answers.push(await real(rig));
    const expected = modelled === undefined ? answers[0] : modelled(model);
    for (const [place, answer] of answers.entries()) {
      expect(answer, `step ${index}, ${label}, ${rigs[place]?.name}`).toEqual(expected);
    }
  }
}

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

/** What can be done to both kinds of state. */
function commonSteps<Model>() {
  type Backend = StateBackend<Key, string, LogicalTime> | AggregateBackend<Key, readonly string[]>;
  const step = (label: string, real: (rig: Rig<Backend>) => unknown): Step<Backend, Model> => ({
    label,
    real,
  });
  return fc.oneof(
    fc.constant(step('flush', (rig) => rig.flush())),
    fc.constant(step('reopen', (rig) => rig.reopen())),
    fc.constant(step('snapshot', async ({ backend }) => hex(await backend.snapshot()))),
    fc.constant(
      step('restore what a snapshot holds', async ({ backend }) => {
        await backend.restore(await backend.snapshot());
      }),
    ),
    fc.constant(
      step('flush while a snapshot runs', async (rig) => {
        const running = rig.backend.snapshot();
        await rig.flush();
        return hex(await running);
      }),
    ),
    fc
      .uniqueArray(keys)
      .map((some) =>
        step('some keys', async ({ backend }) => hex(await backend.snapshotForKeys(some))),
      ),
  );
}

describe('X3 X4 versioned state', () => {
  type Backend = StateBackend<Key, string, LogicalTime>;
  interface Cell {
    readonly value: string | undefined;
    readonly version: LogicalTime;
  }
  type Model = Map<Key, Cell>;

  const rank = ({ epoch, round, origin = '', index = 0 }: LogicalTime) =>
    `${epoch}/${round}/${origin}/${index}`;

  const decide = (model: Model, key: Key, value: string | undefined, version: LogicalTime) => {
    const cell = model.get(key);
    if (cell === undefined || rank(version) > rank(cell.version)) return 'applied';
    if (rank(version) < rank(cell.version)) return 'older';
    return cell.value === value ? 'same' : 'version-conflict';
  };
  const apply = (model: Model, key: Key, value: string | undefined, version: LogicalTime) => {
    const result = decide(model, key, value, version);
    const full = { origin: '', index: 0, ...version };
    if (result === 'applied') model.set(key, { value, version: full });
    return result;
  };

  const puts = fc.tuple(keys, fc.option(values, { nil: undefined }), versions);
  const steps: fc.Arbitrary<Step<Backend, Model>> = fc.oneof(
    {
      weight: 6,
      arbitrary: puts.map(
        ([key, value, version]): Step<Backend, Model> => ({
          label: `put ${String(key)} ${value} ${rank(version)}`,
          real: ({ backend }) =>
            outcomeOf(() =>
              value === undefined ? backend.delete(key, version) : backend.put(key, value, version),
            ),
          model: (model) => apply(model, key, value, version),
        }),
      ),
    },
    {
      weight: 2,
      arbitrary: keys.map(
        (key): Step<Backend, Model> => ({
          label: `get ${String(key)}`,
          real: ({ backend }) => backend.get(key),
          model: (model) => (model.get(key)?.value === undefined ? undefined : model.get(key)),
        }),
      ),
    },
    versions.map(
      (through): Step<Backend, Model> => ({
        label: `prune ${rank(through)}`,
        real: ({ backend }) => backend.prune(through),
        model: (model) => {
          const old = [...model].filter(
            ([, { value, version }]) => value === undefined && rank(version) <= rank(through),
          );
          for (const [key] of old) model.delete(key);
          return old.length;
        },
      }),
    ),
    // Entries of another state, merged completely or not at all.
    fc.uniqueArray(puts, { selector: ([key]) => key, maxLength: 4 }).map(
      (entries): Step<Backend, Model> => ({
        label: `merge ${entries.length}`,
        async real({ backend }) {
          const other = await memoryState().open('s', versioned(stringCodec, 'logical-time'));
          for (const [key, value, version] of entries) {
            if (value === undefined) other.delete(key, version);
            else other.put(key, value, version);
          }
          return settledOf(backend.restoreKeys(await other.snapshot()));
        },
        model(model) {
          const results = entries.map((entry) => decide(model, ...entry));
          if (results.includes('version-conflict')) return 'version-conflict';
          for (const entry of entries) apply(model, ...entry);
          return 'done';
        },
      }),
    ),
    commonSteps<Model>() as unknown as fc.Arbitrary<Step<Backend, Model>>,
  );

  test('every backend gives the same results as the model', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(steps, { maxLength: 60 }), (list) =>
        run<Backend, Model>(versioned(stringCodec, 'logical-time'), new Map(), list),
      ),
      { numRuns: 75 },
    );
  });

  test('the order of updates does not matter, nor how often they come', async () => {
    const updates = fc.uniqueArray(puts, {
      selector: ([key, , version]) => `${typeof key} ${key} ${rank(version)}`,
      maxLength: 12,
    });
    const shuffles = updates.chain((list) =>
      fc.tuple(
        fc.constant(list),
        fc.shuffledSubarray([...list, ...list], {
          minLength: list.length * 2,
          maxLength: list.length * 2,
        }),
      ),
    );
    await fc.assert(
      fc.asyncProperty(shuffles, async (orders) => {
        const snapshots: string[] = [];
        for (const order of orders) {
          const state = await memoryState().open('s', versioned(stringCodec, 'logical-time'));
          for (const [key, value, version] of order) {
            if (value === undefined) state.delete(key, version);
            else state.put(key, value, version);
          }
          snapshots.push(hex(await state.snapshot()));
        }
        expect(snapshots[1]).toBe(snapshots[0]);
      }),
      { numRuns: 100 },
    );
  });
});

describe('X4 aggregate state', () => {
  type Backend = AggregateBackend<Key, readonly string[]>;
  type Model = Map<Key, readonly string[]>;

  const append = (value: string) => (list: readonly string[] | undefined) => {
    const longer = [...(list ?? []), value];
    return longer.length > 3 ? undefined : longer;
  };
  const update = (model: Model, key: Key, value: string) => {
    const list = append(value)(model.get(key));
    if (list === undefined) model.delete(key);
    else model.set(key, list);
    return list;
  };

  const steps: fc.Arbitrary<Step<Backend, Model>> = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.tuple(keys, values).map(
        ([key, value]): Step<Backend, Model> => ({
          label: `update ${String(key)}`,
          real: ({ backend }) => backend.update(key, append(value)),
          model: (model) => update(model, key, value),
        }),
      ),
    },
    {
      weight: 2,
      arbitrary: keys.map(
        (key): Step<Backend, Model> => ({
          label: `get ${String(key)}`,
          real: ({ backend }) => backend.get(key),
          model: (model) => model.get(key),
        }),
      ),
    },
    fc.uniqueArray(keys, { maxLength: 3 }).map(
      (some): Step<Backend, Model> => ({
        label: `merge ${some.length}`,
        async real({ backend }) {
          const other = await memoryState().open('s', aggregate(jsonCodec<readonly string[]>()));
          for (const key of some) other.update(key, append('merged'));
          return settledOf(backend.restoreKeys(await other.snapshot()));
        },
        model(model) {
          if (some.some((key) => model.has(key))) return 'version-conflict';
          for (const key of some) update(model, key, 'merged');
          return 'done';
        },
      }),
    ),
    commonSteps<Model>() as unknown as fc.Arbitrary<Step<Backend, Model>>,
  );

  test('every backend gives the same results as the model', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(steps, { maxLength: 60 }), (list) =>
        run<Backend, Model>(aggregate(jsonCodec<readonly string[]>()), new Map(), list),
      ),
      { numRuns: 75 },
    );
  });
});
