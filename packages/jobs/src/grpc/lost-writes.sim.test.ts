// What becomes of writes that are cut short, and what is known of them: whether they were sent, and begun.
import { SynclineError } from '@syncline/kernel';
import { encode } from '@syncline/kernel/wire';
import { GRPC_STATUS, grpcFailureOf } from '@syncline/protocol';
import { expect, test } from 'vitest';
import { errorOf, inWorld, OK } from '../conformance/fake-write-call.js';
import { jobsLimits } from '../limits.js';
import { jobCalls } from '../wire/calls.js';

test('J2 after a lost stream, sent writes have an unknown outcome and waiting ones use the next stream', () =>
  inWorld(async ({ clock, calls, ask }) => {
    const sent = Array.from({ length: 4 }, () => errorOf(ask(60_000)));
    const waiting = ask(60_000);
    await clock.sleep(1);
    calls[0]?.fail(GRPC_STATUS.UNAVAILABLE, 'Connection dropped');
    for (const error of await Promise.all(sent))
      expect(error).toMatchObject({ code: 'unavailable', outcome: 'unknown', retryable: true });
    await clock.sleep(1);
    expect(calls[1]?.numbers).toEqual([5]);
    calls[1]?.answer([5]);
    await waiting;
  }));

test('a server that announces why it ends has not begun the writes without an answer', () =>
  inWorld(async ({ clock, calls, ask }) => {
    const [answered, unanswered] = [ask(), errorOf(ask())];
    await clock.sleep(1);
    calls[0]?.answer([1]);
    const end = grpcFailureOf(new SynclineError('unavailable', 'the server is stopping'));
    calls[0]?.emit('data', encode(jobCalls.setStates.response, { answers: [], end }));
    calls[0]?.fail(OK, '');
    await answered;
    expect(await unanswered).toMatchObject({ code: 'unavailable', outcome: 'not-applied' });
  }));

test('a server that has announced why it ends receives nothing more: further writes use the next stream', () =>
  inWorld(async ({ clock, calls, ask }) => {
    const sent = Array.from({ length: 4 }, () => errorOf(ask(60_000)));
    const waiting = ask(60_000);
    await clock.sleep(1);
    const end = grpcFailureOf(new SynclineError('unavailable', 'the server is stopping'));
    calls[0]?.emit('data', encode(jobCalls.setStates.response, { answers: [], end }));
    await Promise.all(sent);
    const later = ask();
    await clock.sleep(1);
    expect(calls.map(({ numbers }) => numbers)).toEqual([
      [1, 2, 3, 4],
      [5, 6],
    ]);
    calls[0]?.fail(OK, '');
    calls[1]?.answer([5, 6]);
    await Promise.all([waiting, later]);
  }));

test('J2 once the server has accepted a call, its outcome is unknown, whatever its status says', () =>
  inWorld(async ({ clock, calls, ask }) => {
    const error = errorOf(ask());
    await clock.sleep(1);
    calls[0]?.emit('metadata');
    const { code, details, metadata } = grpcFailureOf(new SynclineError('aborted', 'gone'));
    calls[0]?.fail(code, details, metadata);
    expect(await error).toMatchObject({ code: 'aborted', outcome: 'unknown' });
  }));

test.each([
  {
    name: 'a server that refuses the call has begun nothing',
    metadata: grpcFailureOf(new SynclineError('unauthenticated', 'the token is wrong')).metadata,
    details: 'the token is wrong',
    code: GRPC_STATUS.UNAUTHENTICATED,
    outcome: 'not-applied',
  },
  {
    name: 'no server is listening: they were never sent',
    details: 'No connection established. Last error: ECONNREFUSED',
    code: GRPC_STATUS.UNAVAILABLE,
    outcome: 'not-applied',
  },
  {
    name: 'words of somebody else on the way prove nothing',
    details: 'too large',
    code: GRPC_STATUS.RESOURCE_EXHAUSTED,
    outcome: 'unknown',
  },
  { name: 'an end without a reason', details: '', code: OK, outcome: 'unknown' },
])('what is known of writes without an answer: $name', ({ code, details, metadata, outcome }) =>
  inWorld(async ({ clock, calls, ask }) => {
    const error = errorOf(ask());
    await clock.sleep(1);
    calls[0]?.fail(code, details, metadata);
    expect(await error).toMatchObject({ outcome });
  }),
);

test('a write without an answer in time: unknown if it was sent, not applied if it still waits', () =>
  inWorld(async ({ clock, calls, ask }) => {
    const { value: timeoutMs } = jobsLimits.remoteCallTimeoutMs;
    const sent = Array.from({ length: 4 }, () => errorOf(ask(60_000)));
    const waiting = errorOf(ask(60_000));
    await clock.sleep(timeoutMs - 10);
    const late = ask(100);
    await clock.sleep(20);
    for (const error of await Promise.all(sent))
      expect(error).toMatchObject({ code: 'timeout', outcome: 'unknown' });
    expect(await waiting).toMatchObject({ code: 'timeout', outcome: 'not-applied' });
    calls[0]?.answer([1, 2, 3, 4]); // too late for those who asked, but there is room again
    await clock.sleep(1);
    expect(calls[0]?.numbers).toEqual([1, 2, 3, 4, 6]);
    calls[0]?.answer([6]);
    await late;
  }));

test('an aborted write: unknown if it was sent, not applied and never sent if it still waits', () =>
  inWorld(async ({ clock, calls, ask }) => {
    const stop = new AbortController();
    const sent = errorOf(ask(100, stop.signal));
    await clock.sleep(1);
    const waiting = errorOf(ask(100, stop.signal));
    stop.abort();
    expect(await sent).toMatchObject({ code: 'aborted', outcome: 'unknown' });
    expect(await waiting).toMatchObject({ code: 'aborted', outcome: 'not-applied' });
    await clock.sleep(1);
    expect(calls[0]?.numbers).toEqual([1]);
  }));

test('J21 a stream whose server never answers also ends once no caller waits', () =>
  inWorld(async ({ clock, calls, ask }) => {
    const [first, last] = [errorOf(ask()), clock.sleep(20).then(() => errorOf(ask()))];
    await clock.sleep(jobsLimits.remoteCallTimeoutMs.value + 10);
    expect(await first).toMatchObject({ code: 'timeout' });
    await last;
    const { value: idleMs } = jobsLimits.writeStreamIdleMs;
    await clock.sleep(idleMs - 10);
    expect(calls[0]?.isCancelled).toBe(false);
    await clock.sleep(20);
    expect(calls[0]?.isCancelled).toBe(true);
    const next = ask();
    await clock.sleep(1);
    calls[1]?.answer([3]);
    await next;
  }));

test('J21 closing fails all, and leaves neither a timer nor a call', () =>
  inWorld(async ({ clock, writes, calls, ask }) => {
    const sent = errorOf(ask());
    await clock.sleep(1);
    const waiting = errorOf(ask());
    writes.close();
    expect(await sent).toMatchObject({ code: 'closed', outcome: 'unknown' });
    expect(await waiting).toMatchObject({ code: 'closed', outcome: 'not-applied' });
    expect(calls[0]?.isCancelled).toBe(true);
    await clock.sleep(60_000);
    expect(calls).toHaveLength(1);
  }));

test('J21 closing also ends a stream that was idle, if the server has not ended it yet', () =>
  inWorld(async ({ clock, writes, calls, ask }) => {
    const asked = ask();
    await clock.sleep(1);
    calls[0]?.answer([1]);
    await asked;
    await clock.sleep(jobsLimits.writeStreamIdleMs.value + 10);
    expect(calls[0]).toMatchObject({ isEnded: true, isCancelled: false });
    writes.close();
    expect(calls[0]?.isCancelled).toBe(true);
  }));

test.each([
  ['to no write', { number: 77, response: Uint8Array.of() }],
  ['that is neither done nor a failure', { number: 1 }],
])('a reply %s ends the stream with an unknown outcome', (_, answer) =>
  inWorld(async ({ clock, calls, ask }) => {
    const error = errorOf(ask());
    await clock.sleep(1);
    calls[0]?.emit('data', encode(jobCalls.setStates.response, { answers: [answer] }));
    expect(await error).toMatchObject({ code: 'unavailable', outcome: 'unknown' });
    expect(calls[0]?.isCancelled).toBe(true);
  }),
);
