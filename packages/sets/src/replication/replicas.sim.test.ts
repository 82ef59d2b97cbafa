// Complete nodes over a mesh in memory: what one has missed it gets from the others, and what clients see of that.
import { calmLink, roughLink } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { CrashPlan, type CrashPoint, crashPointsAt } from '../engine/testing/crash-plan.js';
import { Talk } from '../testing/talk.js';
import { type NodeChoices, Nodes } from './testing/two-nodes.js';

/** Runs a test body in a simulation with some nodes. */
async function withNodes(
  ids: readonly number[],
  body: (nodes: Nodes) => Promise<void>,
  choices: NodeChoices = {},
): Promise<void> {
  const nodes = new Nodes(1, ids, choices);
  await nodes.simulation.run(() => body(nodes));
}

const bulk = (text: string) => `$${text.length}\r\n${text}\r\n`;

test('S36 nodes converge although many operations get lost', () =>
  withNodes([1, 2, 3], async (nodes) => {
    await nodes.start(1, 2, 3);
    nodes.simulation.network.adjust({ ...roughLink, lossProbability: 0.3 });
    for (let n = 0; n < 60; n += 1) {
      const id = 1 + (n % 3);
      if (n % 4 === 3) await nodes.remove(id, `m${n % 7}`, `m${n % 5}`);
      else await nodes.add(id, `m${n % 7}`, `m${n % 11}`);
      await nodes.simulation.clock.sleep(50);
    }
    nodes.simulation.calm();
    await nodes.converged(1, 2, 3);
  }));

test('S30 a removed member stays removed, one that is added concurrently stays', () =>
  withNodes([1, 2], async (nodes) => {
    await nodes.start(1, 2);
    await nodes.add(1, 'a', 'b');
    await nodes.converged(1, 2);
    nodes.cut(1, 2);
    await nodes.remove(1, 'a', 'b');
    await nodes.add(2, 'b');
    nodes.heal();
    await nodes.converged(1, 2);
    expect(await nodes.members(1)).toEqual(['b']);
  }));

test('the first write waits until peers were asked, and no longer than a second', () =>
  withNodes([1, 2], async (nodes) => {
    const { clock } = nodes.simulation;
    nodes.machine(1).start();
    await nodes.until(() => nodes.find(1) !== undefined);
    const startMs = clock.monotonicMs();
    await nodes.add(1, 'a');
    expect(clock.monotonicMs() - startMs).toBeGreaterThan(900);
    expect(clock.monotonicMs() - startMs).toBeLessThan(1_100);
    const againMs = clock.monotonicMs();
    await nodes.add(1, 'b');
    expect(clock.monotonicMs() - againMs).toBeLessThan(10);
  }));

test('S6 a node that lost its disk gets everything back', () =>
  withNodes(
    [1, 2],
    async (nodes) => {
      await nodes.start(1, 2);
      await nodes.add(1, 'a', 'b', 'c');
      await nodes.converged(1, 2);
      nodes.machine(1).kill();
      await nodes.start(1);
      await nodes.converged(1, 2);
      expect(await nodes.members(1)).toEqual(['a', 'b', 'c']);
      expect(nodes.sets(1).status().replication).toMatchObject({ isCaughtUp: true });
    },
    { inMemory: true },
  ));

test('S35 the digest changes in one step while a node loads many parts from a peer', () =>
  withNodes(
    [1, 2],
    async (nodes) => {
      await nodes.start(1);
      await nodes.add(1, ...Array.from({ length: 200 }, (_, at) => `member-${at}`));
      await nodes.start(2);
      const shown = new Set<string>();
      let wasLoading = false;
      await nodes.until(() => {
        wasLoading ||= nodes.sets(2).status().health === 'loading';
        shown.add(nodes.digest(2));
        return nodes.digest(1) === nodes.digest(2);
      });
      expect(wasLoading).toBe(true);
      expect([...shown]).toEqual(['- 0 0,0', nodes.digest(1)]);
    },
    { pullLimits: { dotsMax: 5, frameBytes: 64, stepRows: 1 }, startupDelayMs: 0 },
  ));

/** Node 1 writes, is copied, writes more that node 2 gets, and is set back to the copy. */
async function setBack(nodes: Nodes): Promise<number> {
  await nodes.start(1, 2);
  await nodes.add(1, 'a');
  await nodes.converged(1, 2);
  const copy = await nodes.stop(1);
  nodes.machine(1).kill();
  await nodes.start(1);
  const { epoch } = nodes.sets(1).status();
  await nodes.add(1, 'b', 'e', 'f');
  await nodes.converged(1, 2);
  await nodes.stop(1);
  await nodes.restore(1, copy);
  return epoch;
}

test('S3 a restored copy of a directory continues under a new epoch', () =>
  withNodes([1, 2], async (nodes) => {
    const epoch = await setBack(nodes);
    await nodes.start(1);
    await nodes.add(1, 'c');
    await nodes.converged(1, 2);
    expect(await nodes.members(2)).toEqual(['a', 'b', 'c', 'e', 'f']);
    expect(nodes.sets(1).status().epoch).not.toBe(epoch);
  }));

test('S3 a restored copy that has written before peers were reached stops with a conflict', () =>
  withNodes([1, 2], async (nodes) => {
    const epoch = await setBack(nodes);
    nodes.cut(1, 2);
    await nodes.start(1);
    await nodes.add(1, 'c');
    expect(nodes.sets(1).status().epoch).toBe(epoch);
    const before = nodes.digest(2);
    nodes.heal();
    await nodes.until(() => nodes.sets(1).status().health === 'failed');
    expect(nodes.sets(1).status().reason).toMatch(/restored from a copy/);
    expect(nodes.digest(2)).toBe(before);
  }));

test('a starting node counts as caught up after its first pull, or after 10 seconds without any peer', () =>
  withNodes([1, 2], async (nodes) => {
    const { clock } = nodes.simulation;
    const isCaughtUp = (id: number) => nodes.sets(id).status().replication?.isCaughtUp;
    await nodes.start(1);
    const startMs = clock.monotonicMs();
    expect(isCaughtUp(1)).toBe(false);
    await nodes.until(() => isCaughtUp(1) === true);
    expect(clock.monotonicMs() - startMs).toBeGreaterThan(9_900);
    expect(clock.monotonicMs() - startMs).toBeLessThan(10_100);
    await nodes.add(1, 'a');
    nodes.simulation.network.adjust({ ...calmLink, delayMs: 20 });
    await nodes.start(2);
    expect(isCaughtUp(2)).toBe(false);
    await nodes.until(() => isCaughtUp(2) === true);
    expect(await nodes.members(2)).toEqual(['a']);
    expect(clock.monotonicMs() - startMs).toBeLessThan(15_000);
  }));

test('S39 nodes that differ at the same version log the dots, and no longer pull from each other', () =>
  withNodes([1, 2, 3], async (nodes) => {
    const alone = (id: number) => {
      nodes.heal();
      for (const other of [1, 2, 3]) if (other !== id) nodes.cut(other, id);
    };
    await nodes.start(1, 2, 3);
    await nodes.add(1, 'a', 'b');
    await nodes.converged(1, 2, 3);
    const copy = await nodes.stop(1);
    nodes.machine(1).kill();
    // Node 1 uses the same dot twice: to add for node 2, and from an old copy of its disk to remove for node 3.
    alone(3);
    await nodes.start(1);
    await nodes.add(1, 'c');
    await nodes.until(() => nodes.sets(2).has(Buffer.from('set'), Buffer.from('c')));
    await nodes.stop(1);
    await nodes.restore(1, copy);
    alone(2);
    await nodes.start(1);
    await nodes.remove(1, 'b');
    await nodes.until(() => !nodes.sets(3).has(Buffer.from('set'), Buffer.from('b')));
    nodes.machine(1).kill();
    nodes.heal();
    const diverged = (id: number) => nodes.sets(id).status().replication?.divergedPeers;
    await nodes.until(() => diverged(2)?.length === 1 && diverged(3)?.length === 1);
    expect([diverged(2), diverged(3)]).toEqual([[3], [2]]);
    const [kept, removed] = [await nodes.members(2), await nodes.members(3)];
    expect([kept, removed]).toEqual([['a', 'b', 'c'], ['a']]);
    await nodes.simulation.clock.sleep(60_000);
    expect([await nodes.members(2), await nodes.members(3)]).toEqual([kept, removed]);
  }));

test('a pull that finds the disk full is reported, and succeeds once there is space', () =>
  withNodes([1, 2], async (nodes) => {
    await nodes.start(1, 2);
    nodes.cut(1, 2);
    await nodes.add(1, 'a', 'b');
    const disk = nodes.disks.get(2);
    disk?.leave(0);
    nodes.heal();
    const failure = () => nodes.sets(2).status().replication?.pullFailure;
    await nodes.until(() => failure() !== undefined);
    expect(failure()).toMatch(/cannot append to/);
    disk?.leave(1_000_000);
    await nodes.converged(1, 2);
    await nodes.until(() => failure() === undefined);
  }));

test('WAIT counts peers that have applied the writes of a connection', () =>
  withNodes([1, 2, 3], async (nodes) => {
    await nodes.start(1, 2, 3);
    await nodes.until(() => nodes.sets(1).status().replication?.isCaughtUp === true);
    await nodes.simulation.clock.sleep(1_000);
    const talk = new Talk(nodes.sets(1));
    expect(await talk.ask('WAIT', '5', '10')).toBe(':2\r\n');
    await talk.ask('SADD', 'set', 'a');
    expect(await talk.ask('WAIT', '2', '5000')).toBe(':2\r\n');
    nodes.cut(1, 3);
    await talk.ask('SADD', 'set', 'b');
    expect(await talk.ask('WAIT', '2', '500')).toBe(':1\r\n');
    await talk.ask('MULTI');
    await talk.ask('WAIT', '2', '0');
    expect(await talk.ask('EXEC')).toBe('*1\r\n:1\r\n');
    talk.leave();
  }));

test('a blocked SYNCLINE.READ starts a pull; QUORUM asks peers for their versions', () =>
  withNodes([1, 2], async (nodes) => {
    await nodes.start(1, 2);
    await nodes.until(() => nodes.sets(2).status().replication?.isCaughtUp === true);
    const [writer, reader] = [new Talk(nodes.sets(1)), new Talk(nodes.sets(2))];
    nodes.simulation.network.adjust({ ...roughLink, lossProbability: 0.5 });
    for (let n = 0; n < 10; n += 1) await writer.ask('SADD', 'set', `m${n}`);
    nodes.simulation.calm();
    const mine = (await writer.ask('SYNCLINE.VV', 'MINE')).split('\r\n')[1] ?? '';
    const startMs = nodes.simulation.clock.monotonicMs();
    const read = ['SYNCLINE.READ', 'AFTER', mine, 'TIMEOUT', '9000', 'SCARD', 'set'];
    expect(await reader.ask(...read)).toBe(':10\r\n');
    expect(nodes.simulation.clock.monotonicMs() - startMs).toBeLessThan(6_000);
    const quorum = ['SYNCLINE.READ', 'QUORUM', 'MAJORITY', 'SCARD', 'set'];
    expect(await reader.ask(...quorum)).toBe(':10\r\n');
    expect(await reader.ask('SYNCLINE.READ', 'QUORUM', '3', 'SCARD', 'set')).toBe(
      '-NOQUORUM 2 of 3 nodes responded\r\n',
    );
    nodes.cut(1, 2);
    await nodes.simulation.clock.sleep(5_000);
    expect(await reader.ask(...quorum)).toBe('-NOQUORUM 1 of 2 nodes responded\r\n');
    writer.leave();
    reader.leave();
  }));

test('INFO and ROLE show the peers', () =>
  withNodes([1, 2], async (nodes) => {
    await nodes.start(1, 2);
    await nodes.until(() => nodes.sets(1).status().replication?.isCaughtUp === true);
    const talk = new Talk(nodes.sets(1));
    const info = await talk.ask('INFO', 'replication', 'syncline');
    expect(info).toContain(
      'role:master\r\nconnected_slaves:1\r\npeer0:id=2,address=node-2,state=connected,',
    );
    expect(info).toContain('peers:1\r\n');
    expect(await talk.ask('ROLE')).toBe(
      `*3\r\n${bulk('master')}:0\r\n*1\r\n*3\r\n${bulk('node-2')}${bulk('0')}${bulk('0')}`,
    );
    talk.leave();
  }));

/** Node 2 pulls twice from node 1, and dies at one file operation of the second pull, if there is a point. */
async function pullAndDie(choices: NodeChoices, point?: CrashPoint) {
  const nodes = new Nodes(1, [1, 2], choices);
  return nodes.simulation.run(async () => {
    await nodes.start(1, 2);
    await nodes.add(1, 'a', 'b', 'c', 'd', 'e');
    await nodes.converged(1, 2);
    nodes.cut(1, 2);
    await nodes.remove(1, 'a', 'b');
    await nodes.add(1, 'f', 'g', 'h', 'c');
    const before = nodes.digest(2);
    const after = nodes.digest(1);
    await nodes.simulation.clock.sleep(3_000);
    const plan = new CrashPlan(nodes.machine(2), point);
    nodes.machine(2).disk.plan = plan;
    nodes.heal();
    if (point === undefined) await nodes.converged(1, 2);
    else await plan.crashed;
    nodes.cut(1, 2);
    await nodes.simulation.clock.sleep(3_000);
    if (point !== undefined) await nodes.start(2);
    const found = nodes.digest(2);
    nodes.heal();
    await nodes.converged(1, 2);
    return { operations: plan.operations, before, after, found };
  });
}

test.each([
  ['small', { pullLimits: { frameBytes: 20 } }],
  ['large', { pullLimits: { frameBytes: 20, dotsMax: 2 } }],
] as const)(
  'S34 a %s repair counts completely or not at all, wherever the process ends',
  async (_, choices) => {
    const { operations } = await pullAndDie(choices);
    expect(
      operations.filter((operation) => operation.startsWith('handle-write')).length,
    ).toBeGreaterThan(3);
    const seen = new Set<string>();
    for (const [index, operation] of operations.entries())
      for (const point of crashPointsAt(index + 1, operation, 2)) {
        const { before, after, found } = await pullAndDie(choices, point);
        expect([before, after], `${operation} ${JSON.stringify(point)}`).toContain(found);
        seen.add(found === before ? 'before' : 'after');
      }
    expect([...seen].toSorted()).toEqual(['after', 'before']);
  },
);
