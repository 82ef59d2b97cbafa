// How writes are sent and answered: what is batched, what waits, and when a stream is opened and ended.
import { SynclineError } from '@syncline/kernel';
import { grpcFailureOf } from '@syncline/protocol';
import { expect, test } from 'vitest';
import { errorOf, inWorld, OK } from '../conformance/fake-write-call.js';
import { jobsLimits } from '../limits.js';
import { ENVELOPE_BYTES, WINDOW_BYTES_MIN } from '../wire/calls.js';

test('writes of one turn are sent as one message; answers come in any order', () =>
  inWorld(async ({ clock, calls, ask }) => {
    const asked = [ask(), ask(), ask()];
    await clock.sleep(1);
    expect(calls.map(({ messages }) => messages)).toEqual([[[1, 2, 3]]]);
    calls[0]?.answer([3, 1]);
    expect(await asked[2]).toMatchObject({ applied: true, duplicate: false });
    await asked[0];
    calls[0]?.answer([2]);
    await asked[1];
  }));

test('a failed write fails alone, with the error of the server', () =>
  inWorld(async ({ clock, calls, ask }) => {
    const [good, bad] = [ask(), errorOf(ask())];
    await clock.sleep(1);
    const failure = grpcFailureOf(new SynclineError('conflict', 'a later epoch holds the task'));
    calls[0]?.answer([2], { failure });
    calls[0]?.answer([1]);
    expect(await bad).toMatchObject({ code: 'conflict', message: 'a later epoch holds the task' });
    await good;
  }));

test('the bytes of unanswered writes are limited; further writes wait, and are sent in order', () =>
  inWorld(async ({ clock, calls, ask }) => {
    const asked = Array.from({ length: 10 }, () => ask(60_000));
    await clock.sleep(1);
    expect(calls[0]?.messages).toEqual([
      [1, 2],
      [3, 4],
    ]);
    calls[0]?.answer([2]);
    await clock.sleep(1);
    expect(calls[0]?.numbers).toEqual([1, 2, 3, 4, 5]);
    calls[0]?.answer([1, 3, 4, 5]);
    await clock.sleep(1);
    calls[0]?.answer([6, 7, 8, 9]);
    await clock.sleep(1);
    calls[0]?.answer([10]);
    await Promise.all(asked);
  }));

test('nothing is written to a full connection until it drains', () =>
  inWorld(async ({ clock, calls, ask }) => {
    const first = ask();
    await clock.sleep(1);
    const [call] = calls;
    if (call === undefined) throw new Error('no call');
    call.hasRoom = false;
    const second = ask();
    await clock.sleep(1);
    const third = ask();
    await clock.sleep(1);
    expect(call.messages).toEqual([[1], [2]]);
    call.hasRoom = true;
    call.emit('drain');
    await clock.sleep(1);
    expect(call.messages).toEqual([[1], [2], [3]]);
    call.answer([1, 2, 3]);
    await Promise.all([first, second, third]);
  }));

test.each([
  { bytes: 200, counted: 200 + ENVELOPE_BYTES },
  { bytes: 60, counted: WINDOW_BYTES_MIN },
])(
  'a write of $bytes bytes counts $counted in the window, as the server counts it',
  ({ bytes, counted }) =>
    inWorld(async ({ clock, calls, writes, ask }) => {
      const asked = Array.from({ length: 2_500 }, () => errorOf(ask(bytes)));
      await clock.sleep(1);
      const { value: bytesMax } = jobsLimits.writeStreamBytesMax;
      expect(calls[0]?.numbers).toHaveLength(Math.floor(bytesMax / counted));
      writes.close();
      await Promise.all(asked);
    }),
);

test('the largest request is sent; a larger one is refused, and does not delay others', () =>
  inWorld(async ({ clock, calls, ask }) => {
    const { value: bytesMax } = jobsLimits.requestBytesMax;
    const tooLarge = errorOf(ask(bytesMax + 1));
    const asked = [ask(bytesMax), ask()];
    expect(await tooLarge).toMatchObject({
      code: 'limit-exceeded',
      outcome: 'not-applied',
      details: { limit: 'requestBytesMax' },
    });
    await clock.sleep(1);
    calls[0]?.answer([1, 2]);
    await Promise.all(asked);
  }));

test('a stream on which nothing is written ends, and the next write opens another', () =>
  inWorld(async ({ clock, calls, ask }) => {
    const { value: idleMs } = jobsLimits.writeStreamIdleMs;
    const first = ask();
    await clock.sleep(1);
    calls[0]?.answer([1]);
    await first;
    await clock.sleep(idleMs - 10);
    expect(calls[0]?.isEnded).toBe(false);
    await clock.sleep(20);
    expect(calls[0]?.isEnded).toBe(true);
    const second = ask();
    await clock.sleep(1);
    calls[0]?.fail(OK, '');
    expect(calls[1]?.numbers).toEqual([2]);
    calls[1]?.answer([2]);
    await second;
  }));

test('more than remoteWritesMax waiting writes are refused', () =>
  inWorld(async ({ writes, ask }) => {
    const { value: max } = jobsLimits.remoteWritesMax;
    const asked = Array.from({ length: max }, () => errorOf(ask(0)));
    expect(await errorOf(ask())).toMatchObject({
      code: 'overloaded',
      outcome: 'not-applied',
      details: { limit: 'remoteWritesMax' },
    });
    writes.close();
    await Promise.all(asked);
  }));

test('more bytes than remoteWritesBytesMax waiting to be sent are refused', () =>
  inWorld(async ({ writes, ask }) => {
    const { value: max } = jobsLimits.remoteWritesBytesMax;
    const bytes = 100_000;
    const asked = Array.from({ length: Math.ceil(max / bytes) }, () => errorOf(ask(bytes)));
    const small = errorOf(ask(0));
    expect(await asked.at(-1)).toMatchObject({
      code: 'overloaded',
      outcome: 'not-applied',
      details: { limit: 'remoteWritesBytesMax' },
    });
    writes.close();
    expect(await small).toMatchObject({ code: 'closed' });
    expect(await asked[0]).toMatchObject({ code: 'closed' });
    await Promise.all(asked);
  }));
