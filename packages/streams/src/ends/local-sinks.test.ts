import { loadEdited } from '@syncline/testkit';
import { describe, expect, test } from 'vitest';
import { sinkSuite } from '../conformance/sink-suite.js';
import * as callbackCode from './callback-sink.js';
import { callbackSink, createDeduplicator } from './callback-sink.js';
import type { Fence, OutboxPart, OutboxRow } from './sink.js';
import type { Json } from './source.js';
import * as code from './transaction-sink.js';
import { type MemoryTarget, memoryTarget, transactionSink } from './transaction-sink.js';

const signal = new AbortController().signal;
const fence: Fence = { pipeline: 'p', generation: 1, attempt: 0, token: 't1' };

function part(epoch: number, values: readonly Json[], more: Partial<OutboxPart> = {}): OutboxPart {
  const rows = values.map((value, index) => ({ id: `${epoch}/${index}`, value }));
  return { epoch, part: 0, isLast: true, first: 0, rows, ...more };
}

const valuesOf = (rows: readonly OutboxRow[]): readonly Json[] => rows.map(({ value }) => value);

/** Fails some transactions: before they commit, or after, so that the caller cannot know. */
function expiring(target: MemoryTarget, faults: ('before' | 'behind' | 'none')[]): MemoryTarget {
  return {
    ...target,
    async transaction(work, stop) {
      const fault = faults.shift();
      if (fault === 'before') throw new Error('transaction expired');
      const result = await target.transaction(work, stop);
      if (fault === 'behind') throw new Error('connection reset');
      return result;
    },
  };
}

async function expireTransactions(by: typeof code): Promise<void> {
  const target = by.memoryTarget();
  const faults = ['none', 'before', 'before', 'none', 'behind'] as const;
  const sink = by.transactionSink({ uid: 'table', target: expiring(target, [...faults]) });
  await sink.claim?.(fence, signal);
  const retryable = { retryable: true, outcome: 'unknown' };
  await expect(sink.deliver(part(1, [1]), fence, signal)).rejects.toMatchObject(retryable);
  await expect(sink.deliver(part(1, [1]), fence, signal)).rejects.toMatchObject(retryable);
  expect(target.rows).toEqual([]);
  expect(await sink.deliver(part(1, [1]), fence, signal)).toBe('committed');
  await expect(sink.deliver(part(2, [2]), fence, signal)).rejects.toMatchObject(retryable);
  expect(await sink.deliver(part(2, [2]), fence, signal)).toBe('already');
  expect(valuesOf(target.rows)).toEqual([1, 2]);
}

async function repeatCalls(by: typeof callbackCode): Promise<void> {
  const effects: Json[] = [];
  let failures = 2;
  const dedup = by.createDeduplicator();
  const sink = by.callbackSink({
    uid: 'mail',
    async call(rows, { epoch, first }) {
      effects.push(...valuesOf(dedup.acceptInOrder('mail', { epoch, first }, rows)));
      failures -= 1;
      if (failures >= 0) throw new Error('connection reset');
    },
  });
  const parts = [
    part(1, [1, 2], { isLast: false }),
    part(1, [3], { part: 1, first: 2 }),
    part(2, [4]),
  ];
  for (const each of parts) {
    while ((await sink.deliver(each, fence, signal).catch(() => 'again')) === 'again');
  }
  for (const each of parts.slice(1)) await sink.deliver(each, fence, signal); // only a suffix
  expect(effects).toEqual([1, 2, 3, 4]);
}

describe('transactionSink', () => {
  const cases = sinkSuite(
    async () => {
      const target = memoryTarget();
      return {
        open: () => transactionSink({ uid: 'table', target }),
        visible: async () => valuesOf(target.rows),
        [Symbol.asyncDispose]: async () => {},
      };
    },
    { remembers: true },
  );
  test.each(cases)('$name', ({ run }) => run());

  test('T17 an expired transaction is delivered again, and a successful one is not', () =>
    expireTransactions(code));

  test('an apply that throws leaves rows and mark as they were', async () => {
    const target = memoryTarget();
    let isBroken = true;
    const sink = transactionSink({
      uid: 'table',
      target: {
        ...target,
        async apply(tx, rows) {
          await target.apply(tx, rows);
          if (isBroken) throw new Error('constraint violated');
        },
      },
    });
    await expect(sink.deliver(part(1, [1, 2]), fence, signal)).rejects.toThrow(
      'sink "table": constraint violated',
    );
    expect(target.rows).toEqual([]);
    expect(await sink.mark()).toMatchObject({ epoch: 0 });
    isBroken = false;
    await sink.deliver(part(1, [1, 2]), fence, signal);
    expect(valuesOf(target.rows)).toEqual([1, 2]);
  });

  test('a target that lost acknowledged epochs, or receives a part out of order, is out of step', async () => {
    const tables = [memoryTarget(), memoryTarget()] as const;
    let table = tables[0];
    const current: MemoryTarget = {
      ...table,
      transaction: (work, stop) => table.transaction(work, stop),
      readMark: (tx, sink) => table.readMark(tx, sink),
    };
    const sink = transactionSink({ uid: 'table', target: current });
    await sink.deliver(part(1, [1]), fence, signal);
    const outOfStep = { code: 'out-of-step' };
    const gap = part(3, [9], { part: 1, first: 1 });
    await expect(sink.deliver(gap, fence, signal)).rejects.toMatchObject(outOfStep);
    table = tables[1];
    await expect(sink.deliver(part(2, [2]), fence, signal)).rejects.toMatchObject(outOfStep);
    expect(tables[1].rows).toEqual([]);
  });

  test('a mark in the middle of an epoch is recognised', async () => {
    const sink = transactionSink({ uid: 'table', target: memoryTarget() });
    await sink.deliver(part(1, [1]), fence, signal);
    await sink.deliver(part(2, [2], { isLast: false }), fence, signal);
    expect(await sink.mark()).toEqual({ pipeline: 'p', generation: 1, epoch: 1, partial: 2 });
  });
});

describe('callbackSink', () => {
  const cases = sinkSuite(
    async () => {
      const received: Json[] = [];
      return {
        open: () =>
          callbackSink({
            uid: 'mail',
            call: async (rows) => void received.push(...valuesOf(rows)),
          }),
        visible: async () => received,
        [Symbol.asyncDispose]: async () => {},
      };
    },
    { remembers: false },
  );
  test.each(cases)('$name', ({ run }) => run());

  test('D11 T17 a failed call is repeated with the same rows and ids, which a consumer in order drops', () =>
    repeatCalls(callbackCode));
});

describe('createDeduplicator', () => {
  test('in order: a part that extends beyond what is known returns its new rows', () => {
    const dedup = createDeduplicator();
    const inOrder = (epoch: number, first: number, rows: readonly number[]) =>
      dedup.acceptInOrder('s', { epoch, first }, rows);
    expect(inOrder(3, 0, [1, 2])).toEqual([1, 2]);
    expect(inOrder(3, 0, [1, 2, 3])).toEqual([3]);
    expect(inOrder(2, 0, [7])).toEqual([]);
    expect(inOrder(4, 0, [5])).toEqual([5]);
    expect(dedup.acceptInOrder('other', { epoch: 1, first: 0 }, [9])).toEqual([9]);
  });

  test('out of order: the last ids are known, older ones are not', () => {
    const dedup = createDeduplicator({ windowIds: 3 });
    expect(['a', 'b', 'a', 'c', 'd'].map((id) => dedup.accept(id))).toEqual([
      true,
      true,
      false,
      true,
      true,
    ]);
    expect([dedup.accept('b'), dedup.accept('a')]).toEqual([false, true]);
  });

  test('continues from its mark, which survives JSON', () => {
    const before = createDeduplicator({ windowIds: 2 });
    before.acceptInOrder('s', { epoch: 3, first: 0 }, [1, 2]);
    for (const id of ['a', 'b', 'c']) before.accept(id);
    const mark = JSON.parse(JSON.stringify(before.mark())) as Json;
    const after = createDeduplicator({ windowIds: 2, mark });
    expect(after.acceptInOrder('s', { epoch: 3, first: 1 }, [2, 3])).toEqual([3]);
    expect([after.accept('c'), after.accept('b'), after.accept('a')]).toEqual([false, false, true]);
  });

  test('refuses an invalid window or mark', () => {
    expect(() => createDeduplicator({ windowIds: 0 })).toThrow('windowIds');
    expect(() => createDeduplicator({ mark: { places: { s: [1] }, ids: [] } })).toThrow('the mark');
    expect(() => createDeduplicator({ mark: 7 })).toThrow('the mark');
  });

  test('refuses more sinks than its limit', () => {
    const dedup = createDeduplicator();
    const place = { epoch: 1, first: 0 };
    for (let index = 0; index < 1_024; index += 1) dedup.acceptInOrder(`s${index}`, place, [1]);
    expect(() => dedup.acceptInOrder('one more', place, [1])).toThrow('1024');
  });
});

describe('planted bugs', () => {
  type Code = typeof code;
  const suiteOf = (by: Code) =>
    sinkSuite(
      async () => {
        const target = by.memoryTarget();
        return {
          open: () => by.transactionSink({ uid: 'table', target }),
          visible: async () => valuesOf(target.rows),
          [Symbol.asyncDispose]: async () => {},
        };
      },
      { remembers: true },
    );
  const caseOf = (name: string) => (by: Code) => {
    const found = suiteOf(by).find((each) => each.name.includes(name));
    expect(found, name).toBeDefined();
    return found?.run() ?? Promise.resolve();
  };
  const sink = 'ends/transaction-sink';

  test.each([
    {
      bug: 'T16 an older generation may write',
      edit: { file: 'ends/end-error', find: 'if (isOlder || isCopy)', replace: 'if (isCopy)' },
      run: caseOf('T16 an older generation'),
    },
    {
      bug: 'T16 a copied directory may write',
      edit: { file: 'ends/end-error', find: 'if (isOlder || isCopy)', replace: 'if (isOlder)' },
      run: caseOf('T16 a copy of the directory'),
    },
    {
      bug: 'T2 a repeated part is applied again',
      edit: { file: sink, find: "if (!isBefore(held, part)) return 'already';", replace: '' },
      run: caseOf('T2 a repeated commit'),
    },
    {
      bug: 'T17 an expired transaction is dropped',
      edit: {
        file: sink,
        find: 'return await this.#target.transaction(work, signal);',
        replace: "return await this.#target.transaction(work, signal).catch(() => 'committed');",
      },
      run: expireTransactions,
    },
  ])('$bug', async ({ bug, edit, run }) => {
    await run(code);
    const name = `streams-${bug.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`;
    const edited = { folder: 'streams', entry: sink, bug: name, edits: [edit] };
    await expect(run((await loadEdited(edited)) as Code)).rejects.toThrow();
  });

  test('D11 ordered repeats are accepted', async () => {
    const edit = {
      file: 'ends/callback-sink',
      find: 'Math.max(0, knownRows - first)',
      replace: '0',
    };
    const edited = { folder: 'streams', entry: edit.file, bug: 'streams-d11', edits: [edit] };
    await repeatCalls(callbackCode);
    const mutant = (await loadEdited(edited)) as typeof callbackCode;
    await expect(repeatCalls(mutant)).rejects.toThrow();
  });
});
