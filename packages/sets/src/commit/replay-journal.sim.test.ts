// What a start makes of the journal that it finds.
import { type Metrics, type Storage, StorageBatch, silentMetrics } from '@syncline/kernel';
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { ByteList } from '../byte-list.js';
import { openEngine } from '../open-engine.js';
import type { SetsEngine } from '../sets-engine.js';
import { encodeFold, newFold } from '../state/fold-record.js';
import { foldKey, journalKey, KeyKind, kindRange } from '../state/storage-keys.js';

const list = (...texts: readonly string[]) =>
  ByteList.of(...texts.map((text) => Buffer.from(text)));

const has = ({ keyspace }: SetsEngine, ...members: readonly string[]) =>
  members.map((member) => keyspace.has(list('a', member), 0, 1));

/** Ends no engine: each start finds what a kill would leave. */
async function world(ports: SimulatedBody) {
  const storage = await ports.openStorage('db');
  const cut: number[] = [];
  const metrics: Metrics = {
    ...silentMetrics,
    add: (name, amount = 1) => {
      if (name === 'syncline_sets_journal_cut_total') cut.push(amount);
    },
  };
  const start = () => openEngine({ ...ports, metrics, storage }, { nodeId: 1, clusterId: 'sim' });
  const commit = async (engine: SetsEngine, member: string) => {
    engine.keyspace.add(list('a', member), 0, 1);
    await engine.commits.allSettled();
  };
  return { storage, cut, start, commit };
}

async function journalNumbers(storage: Storage): Promise<readonly number[]> {
  const numbers: number[] = [];
  for await (const { key } of storage.range(kindRange(KeyKind.journal))) {
    numbers.push(Buffer.from(key).readUInt32BE(5));
  }
  return numbers;
}

test('S6 what lies behind a hole is dropped for good, and never joins what comes later', () =>
  runInSimulation(1, async (ports) => {
    const { storage, cut, start, commit } = await world(ports);
    const first = await start();
    for (const member of ['1', '2', '3', '4']) await commit(first, member);
    first.dispose();
    expect(await journalNumbers(storage)).toEqual([1, 2, 3, 4]);
    const lost = new StorageBatch().delete(journalKey(2));
    await storage.write(lost, { durability: 'synced' });

    const second = await start();
    expect(has(second, '1', '2', '3', '4')).toEqual([true, false, false, false]);
    expect(cut).toEqual([2]);
    await second.folding.foldAll();
    expect(await journalNumbers(storage)).toEqual([]);
    await commit(second, '5');
    second.dispose();
    expect(await journalNumbers(storage)).toEqual([2]);

    const third = await start();
    expect(has(third, '1', '2', '3', '4', '5')).toEqual([true, false, false, false, true]);
    expect(third.state.setsCount).toBe(1);
    expect(cut).toEqual([2]);
    third.dispose();
  }));

test('S3 each start that was not preceded by a clean stop takes a new epoch', () =>
  runInSimulation(1, async (ports) => {
    const { start, commit } = await world(ports);
    const first = await start();
    await commit(first, 'x');
    first.dispose();
    const second = await start();
    expect(second.identity.epoch).toBe((first.identity.epoch + 1) % 65_536);
    await second.stop();
    const third = await start();
    expect(third.identity.epoch).toBe(second.identity.epoch);
    third.dispose();
  }));

test('after a clean stop nothing of the journal is left', () =>
  runInSimulation(1, async (ports) => {
    const { storage, start, commit } = await world(ports);
    const engine = await start();
    for (const member of ['1', '2', '3']) await commit(engine, member);
    await engine.stop();
    expect(await journalNumbers(storage)).toEqual([]);
    expect(ports.node.pendingTimersCount).toBe(0);
    expect(() => engine.keyspace.add(list('a', 'late'), 0, 1)).toThrow('server is shutting down');
    await expect(engine.keyspace.admit('write')).rejects.toThrow('server is shutting down');
  }));

test('data of a newer format is refused', () =>
  runInSimulation(1, async (ports) => {
    const { storage, start } = await world(ports);
    const newer = Uint8Array.from(encodeFold(newFold()));
    newer[newer.length - 1] = 2;
    await storage.write(new StorageBatch().put(foldKey, newer), { durability: 'synced' });
    await expect(start()).rejects.toMatchObject({
      code: 'conflict',
      details: { reason: 'format' },
    });
  }));
