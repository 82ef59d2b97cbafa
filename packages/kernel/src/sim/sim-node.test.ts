// How a simulated process ends, stops and restarts, and that it does nothing afterwards.
import { expect, test } from 'vitest';
import { SynclineError } from '../error.js';
import { createSeededRandom } from '../seeded-random.js';
import { StorageBatch } from '../storage/storage-batch.js';
import { type DiskOperation, SeededDiskPlan } from './disk/disk-plan.js';
import type { SimPorts } from './sim-node.js';
import { Simulation } from './simulation.js';

const text = (value: string) => new TextEncoder().encode(value);

/** A simulation with one node that keeps the ports of each start. */
function oneNode(seed = 1) {
  const simulation = new Simulation({ seed });
  const starts: SimPorts[] = [];
  const node = simulation.addNode('n1', (ports) => void starts.push(ports));
  const startNode = async (): Promise<SimPorts> => {
    node.start();
    await simulation.clock.sleep(1);
    const ports = starts.at(-1);
    if (ports === undefined) throw new Error('the node has not booted');
    return ports;
  };
  return { simulation, node, startNode };
}

test.each(['kill', 'losePower'] as const)('K80 after %s no port of the process acts', (how) => {
  const { simulation, node, startNode } = oneNode();
  return simulation.run(async () => {
    const ports = await startNode();
    const storage = await ports.openStorage('store');
    const acted: string[] = [];
    const note = (what: string) => () => void acted.push(what);
    const batch = new StorageBatch().put(text('late'), text('x'));
    const act = () => {
      ports.clock.setTimer(5, note('timer'));
      ports.clock.defer(note('defer'));
      void ports.clock.sleep(5).then(note('sleep'));
      void storage.write(batch, { durability: 'synced' }).then(note('write'));
      void storage.close().then(note('close'));
      void ports.openStorage('other').then(note('open'));
      void ports.files.append('file', text('x')).then(note('append'));
      void ports.network.listen({ host: 'n1', port: 1 }, note('accept')).then(note('listen'));
      void ports.network.connect({ host: 'n1', port: 1 }).then(note('connect'), note('connect'));
    };
    ports.clock.setTimer(5, note('timer before'));
    node[how]();
    const { operationsCount } = node.disk;
    act();
    ports.exit('already dead');
    await simulation.clock.sleep(60_000);
    expect(acted).toEqual([]);
    expect(node.disk.operationsCount).toBe(operationsCount);
    expect(node.state).toBe('down');

    const next = await startNode();
    const reopened = await next.openStorage('store');
    expect(reopened.get(text('late'))).toBeUndefined();
    expect(await next.files.list('.')).toEqual([]);
  });
});

test.each(['kill', 'losePower'] as const)(
  'K80 a process that dies by %s in a synchronous call does not continue',
  (how) => {
    const simulation = new Simulation({ seed: 1 });
    const acted: string[] = [];
    const node = simulation.addNode('n1', async ({ files, clock }) => {
      if (acted.length > 0) return;
      const handle = files.openAppend('log');
      const append = (what: string) => {
        acted.push(`${what} begins`);
        handle.append([text(what)]);
        acted.push(`${what} returned`);
      };
      node.disk.plan = new DyingPlan(() => node[how]());
      clock.setTimer(1, () => append('from a timer'));
      await Promise.all([clock.sleep(1).then(() => append('from a promise')), clock.sleep(2)]);
      append('never');
    });
    return simulation.run(async () => {
      node.start();
      await simulation.clock.sleep(100);
      expect(acted).toHaveLength(1); // whichever was first
      expect(node.state).toBe('down');
    });
  },
);

test('K80 an error that a dead process throws because it ended does not fail the run', () => {
  const simulation = new Simulation({ seed: 1 });
  const node = simulation.addNode('n1', async ({ files }) => {
    const handle = files.openAppend('log');
    node.disk.plan = new DyingPlan(() => node.kill());
    const write = async () => {
      try {
        handle.append([text('x')]);
      } catch (cause) {
        throw new SynclineError('storage-failed', 'cannot write', { cause });
      }
    };
    void write(); // an unhandled rejection
    await write().catch(() => {
      throw new TypeError('gave up');
    });
  });
  return simulation.run(async () => {
    node.start();
    await simulation.clock.sleep(100);
    expect(node.state).toBe('down');
  });
});

test('a paused process does nothing and then catches up in order', () => {
  const { simulation, node, startNode } = oneNode();
  return simulation.run(async () => {
    const { clock } = await startNode();
    const fired: string[] = [];
    for (const ms of [10, 20, 30]) clock.setTimer(ms, () => fired.push(`${ms}`));
    const cancelled = clock.setTimer(25, () => fired.push('cancelled'));
    node.pause();
    await simulation.clock.sleep(1000);
    expect(fired).toEqual([]);
    cancelled.cancel();
    node.resume();
    await simulation.clock.sleep(1);
    expect(fired).toEqual(['10', '20', '30']);
  });
});

test('a process that exits is restarted after a while', () => {
  const { simulation, node, startNode } = oneNode();
  return simulation.run(async () => {
    const ports = await startNode();
    ports.exit('out of luck');
    expect(node.state).toBe('down');
    await simulation.clock.sleep(2001);
    expect(node.state).toBe('running');
  });
});

test('timers and connections that are left over are counted', () => {
  const { simulation, node, startNode } = oneNode();
  return simulation.run(async () => {
    const { clock, network } = await startNode();
    const listener = await network.listen({ host: 'n1', port: 0 }, () => {});
    const connection = await network.connect(listener.address);
    const timer = clock.setTimer(1000, () => {});
    expect([node.pendingTimersCount, node.connectionsCount]).toEqual([1, 2]);
    timer.cancel();
    connection.destroy();
    await simulation.clock.sleep(100);
    expect([node.pendingTimersCount, node.connectionsCount]).toEqual([0, 0]);
  });
});

test('wall time steps and drifts by machine, monotonic time never goes back', () => {
  const { simulation, node, startNode } = oneNode();
  return simulation.run(async () => {
    const { clock } = await startNode();
    const offsetMs = () => clock.nowMs() - simulation.clock.nowMs();
    expect(offsetMs()).toBe(0);
    node.clock.step(-5000);
    expect(offsetMs()).toBe(-5000);
    node.clock.setDrift(1_000_000); // twice as fast
    const before = { worldMs: simulation.nowMs, localMs: clock.monotonicMs() };
    await clock.sleep(1000);
    expect(simulation.nowMs - before.worldMs).toBeCloseTo(500, 1);
    expect(clock.monotonicMs() - before.localMs).toBeGreaterThanOrEqual(1000);
  });
});

test('a second opening of a store is locked and names the holder', () => {
  const { simulation, node, startNode } = oneNode();
  return simulation.run(async () => {
    const ports = await startNode();
    await ports.openStorage('store');
    await expect(ports.openStorage('store')).rejects.toMatchObject({
      code: 'locked',
      details: { holder: 'n1#1' },
    });
    node.kill();
    const next = await startNode();
    await next.openStorage('store');
  });
});

/** Ends the process after the first write through a handle. */
class DyingPlan extends SeededDiskPlan {
  readonly #end: () => void;

  constructor(end: () => void) {
    super(createSeededRandom(1));
    this.#end = end;
  }

  override done({ kind }: DiskOperation): void {
    if (kind === 'handle-write') this.#end();
  }
}
