// Output that waits in the checkpoint store: how long it is kept, and what a target that has lost some gets again.
import { runInSimulation } from '@syncline/kernel/testing';
import { describe, expect, test } from 'vitest';
import type { OutboxSink, SinkMark } from '../ends/sink.js';
import type { Source } from '../ends/source.js';
import { definePipeline } from '../pipeline/define.js';
import { start } from '../run/start.js';

interface Target extends OutboxSink {
  readonly values: number[];
  /** Goes back to the state after an earlier epoch, as a database does that is restored from a backup. */
  loseEpochs(count: number): void;
}

function target(): Target {
  const values: number[] = [];
  const history: { readonly epoch: number; readonly count: number }[] = [];
  let mark: SinkMark | null = null;
  return {
    kind: 'outbox',
    uid: 'out',
    contract: 'idempotent',
    values,
    mark: async () => mark,
    async claim({ pipeline, generation }) {
      mark = { epoch: 0, ...mark, pipeline, generation };
      return mark;
    },
    async deliver({ epoch, rows }, { pipeline, generation }) {
      if (mark !== null && epoch <= mark.epoch) return 'already';
      values.push(...rows.map(({ value }) => value as number));
      history.push({ epoch, count: values.length });
      mark = { pipeline, generation, epoch };
      return 'committed';
    },
    loseEpochs(count) {
      const { epoch, count: left } = history.at(-1 - count) as { epoch: number; count: number };
      history.splice(-count);
      values.length = left;
      mark = { ...(mark as SinkMark), epoch };
    },
  };
}

describe('T17 X55 a target that has lost epochs', () => {
  for (const [what, lost, isRefused] of [
    ['gets those that are still retained again', 2, false],
    ['is refused if some are no longer retained', 10, true],
  ] as const) {
    test(what, () =>
      runInSimulation(what, async (world) => {
        const { clock } = world;
        const source: Source<number, number> = {
          uid: 'in',
          isFinite: false,
          partitions: async () => ['a'],
          check: async () => {},
          async *read(_, from, signal) {
            for (let n = from ?? 0; ; n += 1) {
              yield { items: [n], position: n + 1 };
              await clock.sleep(10, signal);
            }
          },
        };
        const out = target();
        const pipeline = definePipeline('p', (p) => p.source(source).to(out));
        const startIt = () =>
          start(
            pipeline,
            { dir: 'state', checkpoint: { everyMs: 50 }, keepDeliveredMs: 0 },
            { ...world, path: (given) => given, openStorage: (at) => world.openStorage(at) },
          );
        const first = await startIt();
        await clock.sleep(2_000);
        await first.stop();
        const before = [...out.values];
        out.loseEpochs(lost);
        if (isRefused) {
          const left = [...out.values];
          await expect(startIt()).rejects.toMatchObject({ code: 'out-of-step' });
          expect(out.values).toEqual(left);
          return;
        }
        const again = await startIt();
        await again.stop();
        expect(out.values.slice(0, before.length)).toEqual(before);
      }),
    );
  }
});
