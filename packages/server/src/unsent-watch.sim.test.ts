import { silentLogger, silentMetrics } from '@syncline/kernel';
import { runInSimulation, type SimulatedBody } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { LimitWatch } from './limit-watch.js';
import { serverLimits } from './limits.js';
import { UnsentWatch } from './unsent-watch.js';

const MIB = 1024 * 1024;

function watchIn({ clock }: SimulatedBody) {
  const limits = new LimitWatch({ clock, logger: silentLogger, metrics: silentMetrics });
  const watch = new UnsentWatch({ clock, limits });
  /** A connection with one response of this many unsent bytes. */
  const open = (bytes: number, mayStall = false) => {
    const client = { bytes, isCut: false };
    const connection = watch.connection(() => {
      client.isCut = true;
      connection.close();
    });
    const end = connection.add({ bytes: () => client.bytes, mayStall });
    return { client, connection, end };
  };
  return { open };
}

test('a client that reads nothing of a response for 60 s is disconnected; a subscription may stall', () =>
  runInSimulation('stall', async (world) => {
    const { open } = watchIn(world);
    const stalled = open(100);
    const slow = open(100_000);
    const subscriber = open(100, true);
    const idle = open(0);
    for (let second = 0; second < 58; second += 1) {
      await world.clock.sleep(1_000);
      slow.client.bytes -= 1;
    }
    expect(stalled.client.isCut).toBe(false);
    await world.clock.sleep(3_000);
    expect(stalled.client.isCut).toBe(true);
    for (const { client } of [slow, subscriber, idle]) expect(client.isCut).toBe(false);
    for (const { connection } of [slow, subscriber, idle]) connection.close();
  }));

test('above the total limit, only as many clients as necessary are disconnected, longest stalled first', () =>
  runInSimulation('total', async (world) => {
    const { open } = watchIn(world);
    const max = serverLimits.unsentBytesMax.value;
    const oldest = open(max / 2, true);
    await world.clock.sleep(5_000);
    const older = open(max / 2, true);
    await world.clock.sleep(5_000);
    const reading = open(MIB);
    for (let step = 0; step < 20; step += 1) {
      reading.client.bytes = MIB - step;
      await world.clock.sleep(100);
    }
    expect([oldest, older, reading].map(({ client }) => client.isCut)).toEqual([
      true,
      false,
      false,
    ]);
    for (const { connection } of [older, reading]) connection.close();
  }));

test('calls wait, in order, until earlier responses have been read', () =>
  runInSimulation('room', async (world) => {
    const { open } = watchIn(world);
    const { client, connection } = open(0);
    const { value: max } = serverLimits.connectionUnsentBytesMax;
    const begun: number[] = [];
    const begin = async (number: number, bytes: number) => {
      const waiting = connection.reserve(bytes);
      if (waiting) await waiting;
      begun.push(number);
    };
    const all = [begin(1, max / 2), begin(2, max / 2), begin(3, max / 2), begin(4, 10)];
    await world.clock.sleep(1);
    expect(begun).toEqual([1, 2]);
    client.bytes = max / 2; // the response to the first call, which is never read
    connection.release(max / 2);
    await world.clock.sleep(1_000);
    expect(begun).toEqual([1, 2]);
    client.bytes = 0;
    await world.clock.sleep(1_000);
    expect(begun).toEqual([1, 2, 3]);
    connection.release(max / 2);
    await Promise.all(all);
    expect(begun).toEqual([1, 2, 3, 4]);
    const last = expect(connection.reserve(max)).rejects.toMatchObject({ code: 'aborted' });
    connection.close();
    await last;
  }));

test('a response larger than the limit is allowed if nothing else is unsent', () =>
  runInSimulation('large', async (world) => {
    const { open } = watchIn(world);
    const { connection } = open(0);
    expect(connection.reserve(100 * MIB)).toBeUndefined();
    connection.close();
  }));
