// The writes of a remote store over streams whose other end is the test, in simulated time.
import { EventEmitter } from 'node:events';
import type { ClientDuplexStream } from '@grpc/grpc-js';
import { type Clock, SynclineError } from '@syncline/kernel';
import { runInSimulation } from '@syncline/kernel/testing';
import { decode, encode } from '@syncline/kernel/wire';
import { encodeState } from '../engine/changes.js';
import type { JobChannel } from '../grpc/job-channel.js';
import { RemoteWrites } from '../grpc/remote-writes.js';
import { jobCalls, type NumberedAnswer } from '../wire/calls.js';

const target = { address: 'jobs.test:7401', tls: undefined, token: undefined };

/** The status of a call that ended well, which is no failure and so not in the table. */
export const OK = 0;

/** The other end of one SetStates call. */
export class FakeCall extends EventEmitter {
  readonly messages: (readonly number[])[] = [];
  isEnded = false;
  isCancelled = false;
  hasRoom = true;

  write(bytes: Uint8Array): boolean {
    const { writes } = decode(jobCalls.setStates.request, bytes, jobCalls.setStates);
    this.messages.push(writes.map(({ number }) => number));
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
      return more.failure ? { number, ...more } : { number, response: RESPONSE, ...more };
    });
    this.emit('data', encode(jobCalls.setStates.response, { answers }));
  }

  fail(code: number, details: string, metadata: Readonly<Record<string, string>> = {}): void {
    this.emit('status', { code, details, metadata: { getMap: () => metadata } });
    this.emit('end');
  }
}

const RESPONSE = encode(jobCalls.setState.response, {
  applied: true,
  duplicate: false,
  state: encodeState({
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
  }),
});

export interface World {
  readonly clock: Clock;
  readonly writes: RemoteWrites;
  readonly calls: readonly FakeCall[];
  /** One write. Its bytes are of no interest to the fake. */
  ask(bytes?: number, signal?: AbortSignal): Promise<unknown>;
}

export function inWorld(body: (world: World) => Promise<void>): Promise<void> {
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
      ask: (bytes = 100, signal?) => writes.ask(new Uint8Array(bytes), signal),
    });
  });
}

export async function errorOf(promise: Promise<unknown>): Promise<SynclineError> {
  const thrown = await promise.catch((error: unknown) => error);
  if (!(thrown instanceof SynclineError)) throw new Error(`no SynclineError: ${String(thrown)}`);
  return thrown;
}
