import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { Coordinator } from './coordinator.js';
import type { ToWorker, WorkerPart } from './messages.js';

const WORKERS = 3;
const GENERATION = 7;

function partOf(worker: number): WorkerPart {
  return {
    partitions: {},
    turn: null,
    clockMs: 0,
    recordsIn: worker,
    operators: {},
    watermarks: {},
    outputs: 0,
    pauseMs: 0,
    segments: {},
    handles: {},
  };
}

interface Rig {
  readonly world: SimulatedBody;
  readonly coordinator: Coordinator;
  /** What was posted, as `worker kind`. */
  readonly posted: string[];
  readonly failures: Error[];
  ack(worker: number, epoch: number, generation?: number): void;
}

const rigged = (name: string, body: (rig: Rig) => Promise<void>) =>
  test(name, () =>
    runInSimulation(name, async (world) => {
      const posted: string[] = [];
      const failures: Error[] = [];
      const coordinator = new Coordinator({
        clock: world.clock,
        workers: WORKERS,
        generation: GENERATION,
        post: (worker: number, { kind }: ToWorker) => void posted.push(`${worker} ${kind}`),
        timeoutMs: 1_000,
        onFailure: (error) => void failures.push(error),
      });
      const ack: Rig['ack'] = (worker, epoch, generation = GENERATION) =>
        coordinator.receive(worker, { generation, kind: 'ack', epoch, part: partOf(worker) });
      await body({ world, coordinator, posted, failures, ack });
      expect(world.node.pendingTimersCount).toBe(0); // every wait is released
    }),
  );

rigged('D8 X63 an epoch is complete when every worker has answered once', async (rig) => {
  const { coordinator, ack } = rig;
  let parts: readonly WorkerPart[] | undefined;
  const done = coordinator.trigger(1, false).then((all) => {
    parts = all;
  });
  ack(2, 1);
  ack(2, 1);
  ack(2, 1);
  ack(0, 1);
  await rig.world.clock.sleep(5);
  expect(parts).toBeUndefined();
  ack(1, 1);
  await done;
  expect(parts?.map(({ recordsIn }) => recordsIn)).toEqual([0, 1, 2]);
});

rigged('D8 X63 what arrives before or after its wait is answered but not stored', async (rig) => {
  const { coordinator, posted, ack } = rig;
  for (const worker of [0, 1, 2]) ack(worker, 1);
  const done = coordinator.trigger(1, false);
  ack(0, 1);
  ack(1, 1, GENERATION - 1);
  expect(posted.slice(WORKERS)).toEqual(['1 abandoned']);
  ack(1, 1);
  ack(2, 1);
  await done;
  coordinator.committed(1);
  posted.length = 0;
  ack(1, 1);
  expect(posted).toEqual(['1 committed']);
});

rigged('D8 X63 a worker that never answers ends the attempt when its time is up', async (rig) => {
  const { coordinator, failures, ack } = rig;
  const done = coordinator.trigger(4, false);
  ack(0, 4);
  ack(2, 4);
  await expect(done).rejects.toMatchObject({
    code: 'timeout',
    details: { workers: [1], epoch: 4 },
  });
  expect(failures).toHaveLength(1);
  ack(1, 4); // too late: the parts of the others are gone
  await expect(coordinator.trigger(5, false)).rejects.toMatchObject({ code: 'timeout' });
});

rigged(
  'a worker that fails or exits ends the attempt at once',
  async ({ coordinator, failures }) => {
    const done = coordinator.trigger(1, false);
    const error = {
      code: 'bad-record',
      message: 'poison',
      retryable: false,
      outcome: 'not-applied',
      details: { uid: 'totals' },
    } as const;
    coordinator.receive(1, { generation: GENERATION, kind: 'nack', error });
    await expect(done).rejects.toMatchObject({ code: 'bad-record', details: { uid: 'totals' } });
    coordinator.lost(0, new Error('gone'));
    expect(failures).toHaveLength(1); // the first one is what it failed on
  },
);

rigged('abandoning a group waits only for the workers that are left', async (rig) => {
  const { world, coordinator } = rig;
  coordinator.lost(0, new Error('gone'));
  const closed = coordinator.abandon(500);
  coordinator.receive(1, { generation: GENERATION, kind: 'closed' });
  coordinator.lost(2, new Error('gone'));
  await closed;
  expect(world.clock.monotonicMs()).toBe(0);
});
