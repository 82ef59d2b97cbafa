// The keyspace as commands use it, where memory holds removed members that are not folded yet.
import { SynclineError } from '@syncline/kernel';
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { ByteList } from './byte-list.js';
import type { VisitBytes } from './keyspace.js';
import { openEngine } from './open-engine.js';

const never = new AbortController().signal;
const list = (...texts: readonly string[]) =>
  ByteList.of(...texts.map((text) => Buffer.from(text)));

function inKeyspace(
  body: (world: Awaited<ReturnType<typeof open>> & { ports: SimulatedBody }) => Promise<void>,
) {
  return runInSimulation(1, async (ports) => {
    const world = await open(ports);
    await body({ ...world, ports });
    await world.engine.stop();
  });
}

async function open(ports: SimulatedBody) {
  const storage = await ports.openStorage('db');
  const engine = await openEngine({ ...ports, storage }, { nodeId: 1, clusterId: 'sim' });
  return { engine, keyspace: engine.keyspace };
}

function collect(read: (visit: VisitBytes) => void): string[] {
  const found: string[] = [];
  read((buffer, start, end) => found.push(Buffer.from(buffer.subarray(start, end)).toString()));
  return found;
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => `m${index}`);

test('picks, walks and pages show members only, though removed ones are still in memory', () =>
  inKeyspace(async ({ keyspace }) => {
    keyspace.add(list('a', ...numbers(100)), 0, 1);
    keyspace.remove(list('a', ...numbers(95)), 0, 1);
    const left = ['m95', 'm96', 'm97', 'm98', 'm99'];
    const key = list('a');
    expect(collect((visit) => keyspace.forEach(key, 0, visit)).sort()).toEqual(left);
    expect(collect((visit) => keyspace.sample(key, 0, 9, visit)).sort()).toEqual(left);
    expect(new Set(collect((visit) => keyspace.sample(key, 0, 3, visit))).size).toBe(3);
    const draws = collect((visit) => keyspace.draw(key, 0, 200, visit));
    expect([draws.length, [...new Set(draws)].sort()]).toEqual([200, left]);
    const pages: string[] = [];
    let position = 0;
    do {
      const from = { position, count: 2 };
      pages.push(...collect((visit) => (position = keyspace.scan(key, 0, from, visit))));
    } while (position !== 0);
    expect(pages.sort()).toEqual(left);
    const popped = collect((visit) => keyspace.pop(key, 0, 2, visit));
    expect([new Set(popped).size, keyspace.cardinality(key, 0)]).toEqual([2, 3]);
    expect([keyspace.clear(key, 0), keyspace.cardinality(key, 0)]).toEqual([3, 0]);
  }));

test('a change that is too large for an operation changes nothing', () =>
  inKeyspace(async ({ keyspace }) => {
    const large = ByteList.of(
      Buffer.from('a'),
      ...numbers(90).map((text) => Buffer.alloc(60_000, text)),
    );
    expect(() => keyspace.add(large, 0, 1)).toThrow('too large for one operation');
    expect([keyspace.cardinality(large, 0), keyspace.lastCounter()]).toEqual([0, 0]);
    keyspace.begin();
    keyspace.add(list('b', 'x'), 0, 1);
    expect(() => keyspace.add(large, 0, 1)).toThrow(SynclineError);
    keyspace.abandon();
    expect([keyspace.cardinality(list('b'), 0), keyspace.lastCounter()]).toEqual([0, 0]);
    expect(keyspace.add(list('b', 'x'), 0, 1)).toBe(1);
  }));

test('only who saw a change that is not stored must wait', () =>
  inKeyspace(async ({ keyspace, engine }) => {
    keyspace.add(list('a', 'x'), 0, 1);
    const commit = keyspace.takeCommitSeen();
    expect(commit).toBe(1);
    keyspace.has(list('b', 'x'), 0, 1);
    expect(keyspace.takeCommitSeen()).toBe(0);
    keyspace.cardinality(list('a'), 0);
    expect(keyspace.takeCommitSeen()).toBe(commit);
    keyspace.version();
    expect(keyspace.takeCommitSeen()).toBe(commit);
    await engine.commits.allSettled();
    keyspace.cardinality(list('a'), 0);
    expect(keyspace.takeCommitSeen()).toBe(0);
  }));

test('a watcher is touched by a change of the members, and not by a new dot', () =>
  inKeyspace(async ({ keyspace }) => {
    keyspace.add(list('a', 'x'), 0, 1);
    const watcher = { isTouched: false };
    keyspace.watch(list('a'), 0, watcher);
    keyspace.add(list('a', 'x'), 0, 1);
    keyspace.add(list('b', 'x'), 0, 1);
    expect(watcher.isTouched).toBe(false);
    keyspace.remove(list('a', 'x'), 0, 1);
    expect(watcher.isTouched).toBe(true);
    watcher.isTouched = false;
    keyspace.unwatch(watcher);
    keyspace.add(list('a', 'x'), 0, 1);
    expect(watcher.isTouched).toBe(false);
  }));

test('who waits for a version goes on with the next commit', () =>
  inKeyspace(async ({ keyspace }) => {
    const moved = keyspace.nextVersion(never);
    const leaver = new AbortController();
    const left = keyspace.nextVersion(leaver.signal);
    leaver.abort();
    await expect(left).rejects.toMatchObject({ code: 'aborted' });
    keyspace.add(list('a', 'x'), 0, 1);
    await moved;
  }));

test('a view outlives a reopened store while nothing was folded, and says so else', () =>
  inKeyspace(async ({ keyspace, engine, ports }) => {
    keyspace.add(list('a', ...numbers(3_000)), 0, 1);
    using view = await keyspace.openView(never);
    const reopen = async () => {
      ports.node.disk.adjust({ isFull: true });
      keyspace.add(list('b', 'x'), 0, 1);
      await engine.commits.allSettled().catch(() => {});
      ports.node.disk.adjust({ isFull: false });
      keyspace.add(list('b', 'y'), 0, 1);
      await engine.commits.allSettled();
    };
    const found: string[] = [];
    for await (const batch of view.members(Buffer.from('a'))) {
      if (found.length === 0) await reopen();
      found.push(...batch.map((member) => Buffer.from(member).toString()));
    }
    expect(found.sort()).toEqual(numbers(3_000).sort());
    await reopen();
    await engine.folding.foldAll();
    expect(() => view.cardinality(Buffer.from('a'))).toThrow('Try again');
  }));
