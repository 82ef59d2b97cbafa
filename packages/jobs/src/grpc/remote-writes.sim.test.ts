// How writes leave and come back: what travels together, what waits, what fails, and what of it was sent.
import { EventEmitter } from 'node:events';
import type { ClientDuplexStream } from '@grpc/grpc-js';
import { type Clock, SynclineError } from '@syncline/kernel';
import { runInSimulation } from '@syncline/kernel/testing';
import { GRPC_STATUS, grpcFailureOf } from '@syncline/protocol';
import { expect, test } from 'vitest';
import { jobsLimits } from '../limits.js';
import { setState } from '../wire/calls.js';
import { encode } from '../wire/proto-message.js';
import {
  decodeWrites,
  ENVELOPE_BYTES,
  encodeAnswers,
  type NumberedAnswer,
  WINDOW_BYTES_MIN,
} from '../wire/write-messages.js';
import type { JobChannel } from './job-channel.js';
import { RemoteWrites } from './remote-writes.js';

const target = { address: 'jobs.test:7401', tls: undefined, token: undefined };

/** The status of a call that ended well, which is no failure and so not in the table. */
const OK = 0;

/** The other end of one SetStates call. */
class FakeCall extends EventEmitter {
  readonly messages: (readonly number[])[] = [];
  isEnded = false;
  isCancelled = false;
  hasRoom = true;

  write(bytes: Uint8Array): boolean {
    this.messages.push(decodeWrites(bytes).map(({ number }) => number));
    return this.hasRoom;
  }

  end(): void {
    this.isEnded = true;
  }

  cancel(): void {
    this.isCancelled = true;
  }

  get numbers(): readonly number[] {
    return this.messages.flat();
  }

  answer(numbers: readonly number[], more: Partial<NumberedAnswer> = {}): void {
    const answers = numbers.map((number): NumberedAnswer => {
      const done = { kind: 'done', response: RESPONSE } as const;
      return { number, answer: done, ...more };
    });
    this.emit('data', encodeAnswers({ answers }));
  }

  fail(code: number, details: string, metadata: Readonly<Record<string, string>> = {}): void {
    this.emit('status', { code, details, metadata: { getMap: () => metadata } });
    this.emit('end');
  }
}

const RESPONSE = encode(setState.response, {
  applied: true,
  duplicate: false,
  state: {
    jobId: '',
    taskId: 0,
    tag: 'a',
    status: 20,
    statusClass: 'running',
    message: '',
    timestampMs: 5,
    version: 1,
    revision: 1,
    eventId: 'e',
    schemaVersion: 1,
  },
});

interface World {
  readonly clock: Clock;
  readonly writes: RemoteWrites;
  readonly calls: readonly FakeCall[];
  /** One write. Its bytes are of no interest to the fake. */
  ask(bytes?: number, signal?: AbortSignal): Promise<unknown>;
}

function inWorld(body: (world: World) => Promise<void>): Promise<void> {
  return runInSimulation('writes', async ({ clock }) => {
    const calls: FakeCall[] = [];
    const duplex = () => {
      const call = new FakeCall();
      calls.push(call);
      return call as unknown as ClientDuplexStream<Uint8Array, Uint8Array>;
    };
    const channel = { duplex } as unknown as JobChannel;
    const writes = new RemoteWrites({ clock, channel, target });
    await body({
      clock,
      writes,
      calls,
      ask: (bytes = 100, signal?) =>
        writes.ask({ write: new Uint8Array(bytes), jobId: 'nightly', signal }),
    });
  });
}

async function errorOf(promise: Promise<unknown>): Promise<SynclineError> {
  const thrown = await promise.catch((error: unknown) => error);
  if (!(thrown instanceof SynclineError)) throw new Error(`no SynclineError: ${String(thrown)}`);
  return thrown;
}

test('writes of one turn leave as one message; answers come in any order, with the job of their write', () =>
  inWorld(async ({ clock, calls, ask }) => {
    const asked = [ask(), ask(), ask()];
    await clock.sleep(1);
    expect(calls.map(({ messages }) => messages)).toEqual([[[1, 2, 3]]]);
    calls[0]?.answer([3, 1]);
    expect(await asked[2]).toMatchObject({ state: { jobId: 'nightly', version: 1 } });
    await asked[0];
    calls[0]?.answer([2]);
    await asked[1];
  }));

test('a failed write fails alone, with the error that the server had', () =>
  inWorld(async ({ clock, calls, ask }) => {
    const [good, bad] = [ask(), errorOf(ask())];
    await clock.sleep(1);
    const failure = grpcFailureOf(new SynclineError('conflict', 'a later epoch holds the task'));
    calls[0]?.answer([2], { answer: { kind: 'failed', failure } });
    calls[0]?.answer([1]);
    expect(await bad).toMatchObject({ code: 'conflict', message: 'a later epoch holds the task' });
    await good;
  }));

test('only so many bytes are without an answer; further writes wait, and leave in their order', () =>
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

test('a wire that takes no more is left alone until it does', () =>
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

test('J2 a lost stream: who was sent does not know, who waits is sent over the next one', () =>
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

test('a server that says why it ends has not begun what has no answer', () =>
  inWorld(async ({ clock, calls, ask }) => {
    const [answered, unanswered] = [ask(), errorOf(ask())];
    await clock.sleep(1);
    calls[0]?.answer([1]);
    const end = grpcFailureOf(new SynclineError('unavailable', 'the server is stopping'));
    calls[0]?.emit('data', encodeAnswers({ answers: [], end }));
    calls[0]?.fail(OK, '');
    await answered;
    expect(await unanswered).toMatchObject({ code: 'unavailable', outcome: 'not-applied' });
  }));

test('a server that has said why it ends is sent nothing more: further writes go over the next stream', () =>
  inWorld(async ({ clock, calls, ask }) => {
    const sent = Array.from({ length: 4 }, () => errorOf(ask(60_000)));
    const waiting = ask(60_000);
    await clock.sleep(1);
    const end = grpcFailureOf(new SynclineError('unavailable', 'the server is stopping'));
    calls[0]?.emit('data', encodeAnswers({ answers: [], end }));
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

test.each([
  { bytes: 200, counted: 200 + ENVELOPE_BYTES },
  { bytes: 60, counted: WINDOW_BYTES_MIN },
])(
  'a write of $bytes bytes counts $counted in the window, as the server counts it',
  ({ bytes, counted }) =>
    inWorld(async ({ clock, calls, writes, ask }) => {
      const asked = Array.from({ length: 5_000 }, () => errorOf(ask(bytes)));
      await clock.sleep(1);
      const { value: bytesMax } = jobsLimits.writeStreamBytesMax;
      expect(calls[0]?.numbers).toHaveLength(Math.floor(bytesMax / counted));
      writes.close();
      await Promise.all(asked);
    }),
);

test('the largest request is sent; a larger one is refused, and holds up no other', () =>
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

test('J2 a call that the server has taken may have begun anything, whatever its status says', () =>
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
    name: 'nobody listens: they have not left',
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

test('J21 a stream whose server never answers ends too, when nobody waits any more', () =>
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

test('more than remoteWritesMax that wait are refused', () =>
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

test('an answer that is none ends the stream, and nobody knows', () =>
  inWorld(async ({ clock, calls, ask }) => {
    const error = errorOf(ask());
    await clock.sleep(1);
    calls[0]?.answer([77]);
    expect(await error).toMatchObject({ code: 'unavailable', outcome: 'unknown' });
    expect(calls[0]?.isCancelled).toBe(true);
  }));
