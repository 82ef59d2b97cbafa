import { SynclineError } from '@syncline/kernel';
import { runInSimulation } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { WriteGate } from './write-gate.js';

const never = new AbortController().signal;

function atGate(
  body: (world: {
    gate: WriteGate;
    room: { isThere: boolean; blockedBy: SynclineError | undefined; failures: number };
    order: string[];
    write(name: string): void;
    turn(): Promise<void>;
  }) => Promise<void>,
) {
  return runInSimulation(1, async ({ clock }) => {
    const room = { isThere: true, blockedBy: undefined as SynclineError | undefined, failures: 0 };
    const last = new SynclineError('storage-full', 'no room');
    const order: string[] = [];
    const gate = new WriteGate({
      clock,
      hasRoom: () => room.isThere,
      blockedBy: () => room.blockedBy,
      failures: () => ({ count: room.failures, last }),
      allSettled: async () => void order.push('settled'),
    });
    const write = (name: string) => {
      const admitted = gate.admit();
      if (admitted === undefined) order.push(name);
      else
        admitted.then(
          () => order.push(name),
          (error: SynclineError) => order.push(`${name} ${error.code}`),
        );
    };
    await body({ gate, room, order, write, turn: () => clock.sleep(1) });
  });
}

test('an open gate lets writes through at once', () =>
  atGate(async ({ order, write }) => {
    write('a');
    expect(order).toEqual(['a']);
  }));

test('writers and closers keep their order', () =>
  atGate(async ({ gate, order, write, turn }) => {
    const first = await gate.close(never);
    write('a');
    const second = gate.close(never).then((hold) => {
      order.push('closed');
      return hold;
    });
    write('b');
    await turn();
    expect(order).toEqual([]);
    first.release();
    await turn();
    expect(order).toEqual(['a', 'closed']);
    (await second).release();
    await turn();
    expect(order).toEqual(['a', 'closed', 'b']);
  }));

test('a writer that was let through has written before the next closer has the gate', () =>
  atGate(async ({ gate, order }) => {
    const first = await gate.close(never);
    const slowWriter = (async () => {
      await gate.admit();
      for (let step = 0; step < 10; step += 1) await Promise.resolve();
      order.push('written');
    })();
    const second = gate.close(never).then((hold) => {
      order.push('closed');
      return hold;
    });
    first.release();
    await Promise.all([slowWriter, second]);
    expect(order).toEqual(['written', 'closed']);
  }));

test('S10 those who waited for room are let through a few per turn, and room is asked for again', () =>
  atGate(async ({ gate, room, order, write, turn }) => {
    room.isThere = false;
    for (let index = 0; index < 100; index += 1) write(String(index));
    await turn();
    expect(order.length).toBe(0);
    room.isThere = true;
    gate.roomChanged();
    await Promise.resolve();
    expect(order.length).toBeLessThanOrEqual(16);
    room.isThere = false;
    await turn();
    expect(order.length).toBeLessThanOrEqual(16);
    room.isThere = true;
    gate.roomChanged();
    for (let turns = 0; turns < 10; turns += 1) await turn();
    expect(order).toEqual(Array.from({ length: 100 }, (_, index) => String(index)));
  }));

test('who holds the gate waits for room before others, and hears of a commit that failed', () =>
  atGate(async ({ gate, room, order, write, turn }) => {
    const hold = await gate.close(never);
    room.isThere = false;
    write('a');
    const roomy = Promise.resolve(hold.room()).then(() => order.push('holder'));
    await turn();
    room.isThere = true;
    gate.roomChanged();
    await roomy;
    expect(order).toEqual(['holder']);
    room.failures += 1;
    await expect(hold.room()).rejects.toMatchObject({ code: 'storage-full' });
    await expect(hold.settled()).rejects.toMatchObject({ code: 'storage-full' });
    hold.release();
    hold.release();
    await turn();
    expect(order).toEqual(['holder', 'a']);
  }));

test('without hope for room writes are refused instead of waiting', () =>
  atGate(async ({ gate, room, order, write, turn }) => {
    room.isThere = false;
    write('early');
    room.blockedBy = new SynclineError('storage-full', 'no room');
    gate.refuseWaiting(room.blockedBy);
    write('late');
    await turn();
    expect(order).toEqual(['early storage-full', 'late storage-full']);
  }));

test('a closer that gives up leaves its place, and a gate that is shut refuses all', () =>
  atGate(async ({ gate, order, write, turn }) => {
    const hold = await gate.close(never);
    const leaver = new AbortController();
    const left = gate.close(leaver.signal);
    write('a');
    leaver.abort();
    await expect(left).rejects.toMatchObject({ code: 'aborted' });
    const waiting = gate.close(never);
    gate.shut(new SynclineError('closed', 'server is shutting down'));
    await expect(waiting).rejects.toMatchObject({ code: 'closed' });
    await expect(hold.room()).rejects.toMatchObject({ code: 'closed' });
    hold.release();
    write('b');
    await turn();
    expect(order).toEqual(['a closed', 'b closed']);
  }));
