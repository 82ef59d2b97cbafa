import { createSystemClock } from '@syncline/kernel';
import { createSeededRandom } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { MemoryCells } from '../memory/memory-cells.js';
import type { Segment } from '../snapshot/segment.js';
import { jsonCodec } from '../state/json-codec.js';
import { aggregate } from '../state/state-backend.js';
import { createStateSchema } from '../state/state-schema.js';
import type { Batch } from './batch.js';
import { newCounters, Operator } from './operator.js';
import { PanesCodec, tumbling, type WindowOf, WindowOperator } from './window.js';

const SIZE_MS = 10;
const KEY_GROUPS = 4;

/** The values of all open windows: `start/key`. */
type Model = Map<string, unknown>;

class Collected extends Operator {
  readonly windows: WindowOf<string, unknown>[] = [];

  take({ items }: Batch): void {
    this.windows.push(...(items as WindowOf<string, unknown>[]));
  }
}

/** Counts items; some counts become null, which is a value like any other. */
const add = (value: unknown, item: unknown) =>
  item === 0 ? null : { count: ((value as { count: number } | null)?.count ?? 0) + 1 };

function open(base?: readonly Segment[]) {
  const panes = new PanesCodec(jsonCodec());
  const schema = createStateSchema('windows', aggregate(panes), KEY_GROUPS);
  const cells = new MemoryCells<unknown, undefined>(schema as never, createSystemClock(), {
    snapshotBytesMax: 1e6,
    isTracked: true,
  });
  const groups = base?.map(
    ({ group, bytes, entries }) =>
      [group, { segments: [{ name: `segment ${group}`, bytes }], entries }] as const,
  );
  if (groups !== undefined) cells.attach(new Map(groups), schema as never);
  const operator = new WindowOperator(
    {
      name: 'windows',
      keyGroups: KEY_GROUPS,
      counters: newCounters(),
      deadLetters: undefined,
      late: undefined,
      partitions: () => [],
      restored: undefined,
      cells: () => cells,
      async forEach(_state, visit) {
        for (const entry of cells.entries()) visit(entry);
      },
    },
    { window: tumbling({ sizeMs: SIZE_MS }), panes, initial: () => null, add, accept: (v) => v },
  );
  const out = new Collected('out');
  new (class extends Operator {
    take(): void {}
  })('in').connect(operator);
  operator.connect(out);
  return { cells, operator, out };
}

const startOf = (timeMs: number) => Math.floor(timeMs / SIZE_MS) * SIZE_MS;

/** Everything that the restored state emits when all its windows close. */
async function restored(segments: readonly Segment[]): Promise<Model> {
  const { operator, out } = open(segments.filter(({ holds }) => holds !== 'nothing'));
  await operator.load();
  operator.advance(0, Number.POSITIVE_INFINITY);
  return new Map(out.windows.map(({ startMs, key, value }) => [`${startMs}/${key}`, value]));
}

test('X22 X33 windows emit the same as a plain model, and so does every capture of them', async () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    const random = createSeededRandom(`window/${seed}`);
    const model: Model = new Map();
    const { cells, operator, out } = open();
    let watermarkMs = -1;
    const captures: { readonly expected: Model; readonly segments: readonly Segment[] }[] = [];
    for (let step = 0; step < 60; step += 1) {
      cells.touchAll(); // so that every capture is complete
      const expected = new Map(model);
      const capture = cells.captureChanges();
      const slices = random.u32() % 3;
      for (let slice = 0; slice < slices; slice += 1) capture.advance();
      const keys = Array.from({ length: 12 }, () => `k${random.u32() % 9}`);
      const times = keys.map(() => watermarkMs + 1 + (random.u32() % 25));
      const items = keys.map(() => random.u32() % 4);
      const rounds = keys.map((_, at) => at);
      const rest = { indexes: undefined, origin: 'in', epoch: 0, emitter: 'in' };
      operator.take({ items, keys, times, rounds, ...rest });
      for (const [at, key] of keys.entries()) {
        const place = `${startOf(times[at] as number)}/${key}`;
        model.set(place, add(model.get(place), items[at]));
      }
      watermarkMs += random.u32() % 8;
      operator.advance(0, watermarkMs);
      for (const { startMs, key, value } of out.windows.splice(0)) {
        const place = `${startMs}/${key}`;
        expect(startMs + SIZE_MS - 1, `seed ${seed}`).toBeLessThanOrEqual(watermarkMs);
        expect(value, `seed ${seed}`).toEqual(model.get(place));
        expect(model.delete(place)).toBe(true);
      }
      while (!capture.advance());
      cells.endCapture();
      captures.push({ expected, segments: capture.result() });
    }
    for (const place of model.keys()) {
      expect(Number(place.split('/')[0]) + SIZE_MS - 1).toBeGreaterThan(watermarkMs);
    }
    for (const { expected, segments } of captures) {
      expect(await restored(segments), `seed ${seed}`).toEqual(expected);
    }
  }
});
