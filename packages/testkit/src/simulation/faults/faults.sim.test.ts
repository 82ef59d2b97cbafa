// Each fault does what its name says, and undoes it when the faults are to stop.
import { SeededDiskPlan, type SimNode, Simulation } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import type { WorkloadContext } from '../workload.js';
import { allFaults } from './all-faults.js';

const RUN_MS = 120_000;
const SAMPLE_MS = 20;

/** How to see that a fault is active. */
const signs: Readonly<Record<string, (nodes: readonly SimNode[], world: Simulation) => boolean>> = {
  'clock-steps': ([node], { clock }) => Math.abs((node?.clock.wallMs() ?? 0) - clock.nowMs()) > 5,
  crashes: (nodes) => nodes.some(({ state }) => state === 'down'),
  'failing-syncs': (nodes) => nodes.some((node) => verdictOf(node, 'sync') === 'failed'),
  'full-disks': (nodes) => nodes.some((node) => verdictOf(node, 'append') === 'full'),
  partitions: (nodes, { network }) =>
    nodes.some((a) => nodes.some((b) => a !== b && !network.link(a.name, b.name).isOpen)),
  pauses: (nodes) => nodes.some(({ state }) => state === 'paused'),
  'power-losses': (_, { network }) => !network.link('n1', 'n2').isOpen,
  'rough-network': (_, { network }) => network.link('n1', 'n2').profile.tailMsMax > 0,
  'slow-disks': (nodes) => nodes.some((node) => delayOf(node) > 100),
};

const lasting = new Set(['clock-steps']);
const operation = (kind: 'append' | 'sync') => ({ index: 0, kind, subject: 'test' });

function verdictOf({ disk }: SimNode, kind: 'append' | 'sync'): string {
  return disk.plan.verdict(operation(kind));
}

function delayOf({ disk }: SimNode): number {
  expect(disk.plan).toBeInstanceOf(SeededDiskPlan);
  return disk.plan.delayMs(operation('append'));
}

test('each fault has a sign', () => {
  expect(allFaults.map(({ name }) => name)).toEqual(Object.keys(signs));
});

test.each(allFaults.map((fault) => [fault.name, fault] as const))('%s', async (name, fault) => {
  const simulation = new Simulation({ seed: 5 });
  const targets = ['n1', 'n2', 'n3'].map((each) => simulation.addNode(each, () => {}));
  const context: WorkloadContext = { simulation, random: simulation.random.fork('test'), targets };
  const isSeen = () => signs[name]?.(targets, simulation) ?? false;
  await simulation.run(async () => {
    for (const node of targets) node.start();
    expect(isSeen()).toBe(false);
    const end = new AbortController();
    const running = fault.start(context, end.signal);
    let seen = 0;
    for (let ms = 0; ms < RUN_MS; ms += SAMPLE_MS) {
      await simulation.clock.sleep(SAMPLE_MS);
      if (isSeen()) seen += 1;
    }
    end.abort();
    await running;
    expect(seen).toBeGreaterThan(10);
    if (!lasting.has(name)) expect(isSeen()).toBe(false);
  });
});
