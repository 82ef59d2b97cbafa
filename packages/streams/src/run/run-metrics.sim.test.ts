// What the metrics of a run say at moments that matter.
import { SynclineError } from '@syncline/kernel';
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { callbackSink } from '../ends/callback-sink.js';
import { memorySource } from '../ends/memory-source.js';
import type { StreamsMetrics } from '../metrics-list.js';
import { definePipeline, type Pipeline } from '../pipeline/define.js';
import { start } from './start.js';

/** The last value of each gauge, and the sum of each counter. */
function startWith(world: SimulatedBody, pipeline: Pipeline) {
  const values = new Map<string, number>();
  const metrics: StreamsMetrics = {
    set: (name, value) => void values.set(name, value),
    add: (name, value = 1) => void values.set(name, (values.get(name) ?? 0) + value),
    observe() {},
  };
  const ports = { ...world, path: (given: string) => given, metrics };
  const openStorage = (at: string) => world.openStorage(at);
  return { values, starting: start(pipeline, { dir: 'state' }, { ...ports, openStorage }) };
}

const sim = (name: string, body: (world: SimulatedBody) => Promise<void>) =>
  test(name, () => runInSimulation(name, body));

sim(
  'while a sink is down, epoch and age are those of the last durable checkpoint',
  async (world) => {
    const { clock } = world;
    let isDown = true;
    const pipeline = definePipeline('p', (p) => {
      const hold = (_: string, index: number) =>
        index > 1 && isDown ? clock.sleep(60_000) : undefined;
      p.source(
        memorySource({ uid: 'in', partitions: { a: [1, 2, 3] }, batchItems: 1, beforeBatch: hold }),
      ).to(
        callbackSink({
          uid: 'out',
          async call() {
            if (isDown) throw new SynclineError('unavailable', 'down');
          },
        }),
      );
    });
    const { values, starting } = startWith(world, pipeline);
    const run = await starting;
    await clock.sleep(20_000);
    expect(run.state).toBe('stalled');
    expect(values.get('syncline_streams_epoch')).toBe(1);
    expect(values.get('syncline_streams_sink_uncommitted_epochs')).toBe(1);
    expect(values.get('syncline_streams_checkpoint_age_seconds')).toBeGreaterThan(17);
    expect(values.get('syncline_streams_checkpoint_age_seconds')).toBeLessThan(19.5);
    isDown = false;
    await run.finished;
  },
);

sim('X34 a full reorder releases the lowest items early, and counts them', async (world) => {
  const [released, late]: [unknown[], unknown[]] = [[], []];
  const into = (uid: string, list: unknown[]) =>
    callbackSink({
      uid,
      call: async (rows) => void list.push(...rows.map(({ value }) => value)),
    });
  const pipeline = definePipeline('p', (p) => {
    p.source(memorySource({ uid: 'in', partitions: { a: [30, 10, 20, 40, 5, 50] }, batchItems: 1 }))
      .keyBy(() => 'k')
      .reorder({
        uid: 'r',
        versionKind: 'number',
        version: (n) => n,
        sealed: { lag: 1_000 },
        late: into('late', late),
        onFull: 'release',
        itemsMax: 2,
      })
      .to(into('out', released));
  });
  const { values, starting } = startWith(world, pipeline);
  await (await starting).finished;
  expect(released).toEqual([10, 20, 30, 40, 50]);
  expect(late).toEqual([5]);
  expect(values.get('syncline_streams_released_early_total')).toBe(2); // at the end, everything is sealed
  expect(values.get('syncline_streams_late_total')).toBe(1);
});
