// Seeds that take longer to read than one Redis call may last, and that change while they are read.
import { createSystemClock } from '@syncline/kernel';
import { startRedis } from '@syncline/testkit';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import type { Cells } from '../cells.js';
import {
  cellsAt,
  deltasOf,
  linearNamespace,
  listCells,
  SEED,
} from '../conformance/store-samples.js';
import { fairLimits } from '../limits.js';
import type { Namespace } from '../state/fair-store.js';
import { RedisRig } from './redis-rig.js';

const WAIT = { timeout: 60_000, interval: 5 };
const start = `v1:{big:${SEED}}:`;
const clock = createSystemClock();

let rig: RedisRig;

beforeAll(async () => {
  rig = new RedisRig(await startRedis());
});
afterEach(() => rig.reset());
afterAll(() => rig[Symbol.asyncDispose]());

function bigNamespace(levels: number, columns: number): Namespace {
  const rule = { policy: 'linear', ratePerSecond: 0 } as const;
  return { ...linearNamespace, name: 'big', rule, shape: { levels, columns } };
}

/** Fills a row as many changes would. KEYS a row; ARGV 1 columns. */
const FILL_ROW = `
for column = 0, ARGV[1] - 1 do
  redis.call('HSET', KEYS[1], column .. ':prob', '0.25', column .. ':time', '1')
end`;

async function fill(levels: number, columns: number): Promise<void> {
  for (let row = 0; row < levels; row += 1) {
    await rig.admin.eval(FILL_ROW, 1, `${start}${row}`, columns);
    await rig.admin.sadd(`${start}rows`, row);
  }
  await rig.admin.hset(`${start}meta`, 'n', '1', 'e', 'a', 't', '1');
}

test('a seed of the largest size is read, and other calls are not blocked', async () => {
  const levels = fairLimits.cellsMax.value / fairLimits.columnsMax.value;
  const namespace = bigNamespace(levels, fairLimits.columnsMax.value);
  await fill(levels, fairLimits.columnsMax.value);
  const store = rig.openStore();
  await cellsAt(store, namespace, 1n); // connected
  const readDuringCalls = async () => {
    let callsCount = 0;
    let isRead = false;
    const call = async () => {
      for (; !isRead; callsCount += 1) {
        await store.redisNowMs();
        await clock.sleep(5);
      }
    };
    const reading = Promise.resolve(store.getSeed(namespace, SEED)).finally(() => {
      isRead = true;
    });
    const [cells] = await Promise.all([reading, call()]);
    expect(cells.count).toBe(fairLimits.cellsMax.value);
    expect(new Set(cells.columns).size).toBe(fairLimits.columnsMax.value);
    expect(cells.probabilities.every((probability) => probability === 0.25)).toBe(true);
    expect(callsCount).toBeGreaterThan(10);
  };
  await vi.waitFor(readDuringCalls, WAIT); // on a busy machine Redis may take longer than a call may
});

test('F60 a copy that is read during writes eventually holds what is stored', async () => {
  const namespace = bigNamespace(3, 2_000);
  await fill(3, 2_000);
  const [store, other] = [rig.openStore(), rig.openStore()];
  const copy = new Map<string, number>();
  const take = (cells: Cells) => {
    for (const { row, column, probability } of listCells(cells))
      copy.set(`${row}/${column}`, probability);
  };
  store.watch(namespace, ({ cells }) => take(cells));
  await cellsAt(store, namespace, SEED); // connected
  let changesCount = 0;
  const write = async (until: () => boolean) => {
    for (; !until(); changesCount += 1) {
      const column = (changesCount * 7) % 2_000;
      const changes = [0, 1, 2].map((row) => ({ row, column, amount: 0.001 }));
      await other.applyDelta(namespace, SEED, deltasOf(...changes));
    }
  };
  for (let round = 0; round < 3; round += 1) {
    let isRead = false;
    const writing = write(() => isRead);
    // A number that was seen is answered by a reading, too.
    const id = { clientId: 'one', seq: 1 };
    take(await store.getSeed(namespace, SEED));
    take(
      (await store.applyDelta(namespace, SEED, deltasOf({ row: 2, column: 5, amount: 0.1 }), id))
        .cells,
    );
    isRead = true;
    await writing;
    const stored = listCells(await rig.openStore().getSeed(namespace, SEED));
    expect(stored).toHaveLength(6_000);
    await vi.waitFor(() => {
      const stale = stored.filter(
        (cell) => copy.get(`${cell.row}/${cell.column}`) !== cell.probability,
      );
      expect(stale).toEqual([]);
    }, WAIT);
  }
  expect(changesCount).toBeGreaterThan(20);
});
