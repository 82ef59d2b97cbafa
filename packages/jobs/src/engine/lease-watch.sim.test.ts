import {
  createSeededRandom,
  runInSimulation,
  type SimPorts,
  Simulation,
} from '@syncline/kernel/testing';
import { describe, expect, test } from 'vitest';
import { LeaseWatch } from './leases.js';
import type { LeaseRef } from './store-adapter.js';

const lease = (taskId: number, epoch = 1): LeaseRef => ({
  jobId: 'nightly',
  incarnation: 'i1',
  taskId,
  epoch,
});

/** A watch whose reports are recorded with their time. Tasks in `finished` have no work left. */
function watchOn({ clock }: Pick<SimPorts, 'clock'>) {
  const finished = new Set<number>();
  const reports: { readonly lease: LeaseRef; readonly atMs: number }[] = [];
  const watch = new LeaseWatch({
    clock,
    hasUnfinished: ({ taskId }) => !finished.has(taskId),
    onOverdue: (each) => void reports.push({ lease: each, atMs: clock.monotonicMs() }),
  });
  const tasks = () => reports.map((report) => report.lease.taskId);
  return { watch, finished, reports, tasks };
}

describe('the lease watch', () => {
  test('J18 reports between ttl and ttl + 1 s after the last renewal, whatever the wall clock does', async () => {
    let reportsCount = 0;
    for (let seed = 0; seed < 50; seed += 1) {
      await runInSimulation(seed, async ({ clock, node }) => {
        const random = createSeededRandom(seed);
        const below = (bound: number) => Math.floor(random.float() * bound);
        const { watch, reports } = watchOn({ clock });
        const held = new Map<number, { ttlMs: number; renewedMs: number }>();
        const lost = () => {
          for (const { lease: each, atMs } of reports.splice(0)) {
            const { ttlMs, renewedMs } = held.get(each.taskId) ?? { ttlMs: 0, renewedMs: 0 };
            expect(atMs - renewedMs).toBeGreaterThanOrEqual(ttlMs);
            expect(atMs - renewedMs).toBeLessThanOrEqual(ttlMs + 1_000);
            watch.forget('i1', each.taskId);
            held.delete(each.taskId);
            reportsCount += 1;
          }
        };
        for (let round = 0; round < 100; round += 1) {
          const taskId = below(10);
          const ttlMs = 1_000 + below(4_000);
          const known = held.get(taskId);
          if (known && random.float() < 0.8) {
            watch.extend('i1', taskId);
            known.renewedMs = clock.monotonicMs();
          } else {
            watch.watch(lease(taskId, round), ttlMs);
            held.set(taskId, { ttlMs, renewedMs: clock.monotonicMs() });
          }
          if (random.float() < 0.1) node.clock.step((random.float() - 0.5) * 86_400_000);
          await clock.sleep(below(700));
          lost();
          const nowMs = clock.monotonicMs();
          for (const each of held.values()) {
            expect(nowMs - each.renewedMs).toBeLessThanOrEqual(each.ttlMs + 1_000);
          }
        }
        watch.close();
      });
    }
    expect(reportsCount).toBeGreaterThan(500);
  });

  test('J18 a pause of the process does not count: no lease is lost because of it', async () => {
    const simulation = new Simulation({ seed: 1 });
    let rig: ReturnType<typeof watchOn> | undefined;
    const node = simulation.addNode('store', (ports) => {
      rig = watchOn(ports);
      rig.watch.watch(lease(0), 2_000);
      rig.watch.watch(lease(1), 30_000);
    });
    await simulation.run(async () => {
      node.start();
      await simulation.clock.sleep(500);
      node.pause();
      await simulation.clock.sleep(60_000);
      node.resume();
      await simulation.clock.sleep(1_200); // 1.7 s of uptime
      expect(rig?.tasks()).toEqual([]);
      await simulation.clock.sleep(1_000); // 2.7 s
      expect(rig?.tasks()).toEqual([0]);
      rig?.watch.forget('i1', 0);
      await simulation.clock.sleep(26_800); // 29.5 s
      expect(rig?.tasks()).toEqual([0]);
      await simulation.clock.sleep(1_300);
      expect(rig?.tasks()).toEqual([0, 1]);
      rig?.watch.close();
    });
  });

  test('J18 a renewal that is read right after a pause begins a normal ttl', async () => {
    const simulation = new Simulation({ seed: 1 });
    let rig: ReturnType<typeof watchOn> | undefined;
    const node = simulation.addNode('store', (ports) => {
      rig = watchOn(ports);
      rig.watch.watch(lease(0), 2_000);
    });
    await simulation.run(async () => {
      node.start();
      await simulation.clock.sleep(500);
      node.pause();
      await simulation.clock.sleep(60_000);
      rig?.watch.extend('i1', 0); // it comes before the tick, which is a minute late
      node.resume();
      await simulation.clock.sleep(1_900);
      expect(rig?.tasks()).toEqual([]);
      await simulation.clock.sleep(1_000);
      expect(rig?.tasks()).toEqual([0]);
      rig?.watch.close();
    });
  });

  test('repeats the report each second until the lease is renewed or forgotten', () =>
    runInSimulation(1, async ({ clock }) => {
      const { watch, reports, tasks } = watchOn({ clock });
      watch.watch(lease(0), 1_000);
      watch.watch(lease(1), 1_000);
      await clock.sleep(4_900);
      const [first, second] = reports.filter((report) => report.lease.taskId === 0);
      expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(1_000);
      expect(reports.length).toBeGreaterThanOrEqual(6);
      expect(watch.isOverdue('i1', 0)).toBe(true);
      watch.extend('i1', 0);
      expect(watch.isOverdue('i1', 0)).toBe(false);
      watch.forget('i1', 1);
      expect(watch.isOverdue('i1', 1)).toBe(false);
      reports.length = 0;
      await clock.sleep(900);
      expect(tasks()).toEqual([]);
      await clock.sleep(1_000);
      expect(tasks()).toEqual([0]);
      watch.close();
    }));

  test('ignores finished tasks until they have work again', () =>
    runInSimulation(1, async ({ clock }) => {
      const { watch, finished, tasks } = watchOn({ clock });
      finished.add(0).add(1);
      watch.watch(lease(0), 1_000);
      watch.watch(lease(1), 1_000);
      await clock.sleep(10_000);
      expect(tasks()).toEqual([]);
      finished.clear();
      watch.extend('i1', 1); // its next write
      watch.recheck('i1'); // another tag is expected
      await clock.sleep(900);
      expect(tasks()).toEqual([0]);
      watch.forget('i1', 0);
      await clock.sleep(1_000);
      expect(tasks()).toEqual([0, 1]);
      watch.close();
    }));

  test('a ttl of 0 never ends; a new claim replaces the old one; a deleted job has none', () =>
    runInSimulation(1, async ({ clock }) => {
      const { watch, reports } = watchOn({ clock });
      watch.watch(lease(0), 0);
      watch.watch(lease(1, 1), 1_000);
      watch.watch(lease(1, 2), 3_000);
      watch.watch({ ...lease(2), incarnation: 'i2' }, 1_000);
      watch.forget('i2');
      await clock.sleep(2_900);
      expect(reports).toEqual([]);
      await clock.sleep(1_000);
      expect(reports.map((report) => report.lease)).toEqual([lease(1, 2)]);
      watch.close();
    }));

  test('J21 ticks only while there is something to watch, and not after close', () =>
    runInSimulation(1, async ({ clock }) => {
      const timers = new Set<object>();
      const counting: Pick<SimPorts['clock'], 'monotonicMs' | 'setTimer'> = {
        monotonicMs: () => clock.monotonicMs(),
        setTimer: (ms, callback, options) => {
          const fire = () => {
            timers.delete(timer);
            callback();
          };
          const timer = clock.setTimer(ms, fire, options);
          timers.add(timer);
          return {
            cancel: () => {
              timers.delete(timer);
              timer.cancel();
            },
          };
        },
      };
      const watch = new LeaseWatch({
        clock: counting,
        hasUnfinished: () => false,
        onOverdue: () => undefined,
      });
      expect(timers.size).toBe(0);
      watch.watch(lease(0), 1_000);
      watch.watch(lease(1), 60_000);
      expect(timers.size).toBe(1);
      watch.forget('i1', 1);
      await clock.sleep(2_000); // the other is done and waits for no tick
      expect(timers.size).toBe(0);
      watch.extend('i1', 0);
      expect(timers.size).toBe(1);
      watch.close();
      watch.watch(lease(2), 1_000); // of a commit that was in flight
      watch.extend('i1', 0);
      expect(timers.size).toBe(0);
    }));
});
