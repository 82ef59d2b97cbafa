// An event stream whose client reads, stalls or disconnects, in simulated time.
import { EventEmitter, getEventListeners } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { runInSimulation } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import type { ServerSentEvent } from './http-route.js';
import { sendEvents } from './server-sent-events.js';

/** The part of a response that the writer uses. */
class FakeResponse extends EventEmitter {
  written: string[] = [];
  hasEnded = false;
  hasRoom = true;

  get writableNeedDrain(): boolean {
    return !this.hasRoom;
  }
  write(text: string): boolean {
    this.written.push(text);
    return this.hasRoom;
  }
  end(): void {
    this.hasEnded = true;
  }
  asResponse(): ServerResponse {
    return this as unknown as ServerResponse;
  }
}

const tick = (n: number): ServerSentEvent => ({ event: 'tick', data: n });

test('an idle stream gets a comment every 10 s; a client that leaves ends it immediately', () =>
  runInSimulation('quiet', async ({ clock }) => {
    const response = new FakeResponse();
    const gone = new AbortController();
    let isReturned = false;
    const events: AsyncIterable<ServerSentEvent> = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise(() => undefined),
        return: () => {
          isReturned = true;
          return Promise.resolve({ done: true, value: undefined });
        },
      }),
    };
    const deps = { clock, response: response.asResponse() };
    const sent = sendEvents(deps, events, { signal: gone.signal });
    await clock.sleep(35_000);
    expect(response.written).toEqual([':\n\n', ':\n\n', ':\n\n']);
    gone.abort();
    await sent;
    expect(response.hasEnded).toBe(true);
    expect(isReturned).toBe(true);
    await clock.sleep(35_000);
    expect(response.written).toHaveLength(3);
  }));

test('a busy stream gets comments, too', () =>
  runInSimulation('busy', async ({ clock }) => {
    const response = new FakeResponse();
    async function* source(): AsyncGenerator<ServerSentEvent> {
      for (let n = 0; n < 7; n += 1) {
        await clock.sleep(4_000);
        yield tick(n);
      }
    }
    const deps = { clock, response: response.asResponse() };
    await sendEvents(deps, source(), { signal: new AbortController().signal });
    const isComment = response.written.map((text) => text === ':\n\n');
    expect(isComment).toEqual([false, false, true, false, false, false, true, false, false]);
  }));

test('a client that does not read pauses the source, and gets no comments', () =>
  runInSimulation('stalled', async ({ clock }) => {
    const response = new FakeResponse();
    let pulled = 0;
    async function* source(): AsyncGenerator<ServerSentEvent> {
      for (; pulled < 5; pulled += 1) yield tick(pulled);
    }
    response.hasRoom = false;
    const deps = { clock, response: response.asResponse() };
    const sent = sendEvents(deps, source(), { signal: new AbortController().signal });
    await clock.sleep(60_000);
    expect(pulled).toBe(0); // the first one was sent, the second was not requested
    expect(response.written).toHaveLength(1);
    response.hasRoom = true;
    response.emit('drain');
    await sent;
    expect(response.written).toHaveLength(5);
    expect(response.hasEnded).toBe(true);
  }));

test('a source that fails ends the response and throws', () =>
  runInSimulation('failing', async ({ clock }) => {
    const response = new FakeResponse();
    async function* source(): AsyncGenerator<ServerSentEvent> {
      yield tick(1);
      throw new Error('source is gone');
    }
    const deps = { clock, response: response.asResponse() };
    const sent = sendEvents(deps, source(), { signal: new AbortController().signal });
    await expect(sent).rejects.toThrow('source is gone');
    expect(response.hasEnded).toBe(true);
  }));

test('a sent event can be garbage-collected, however long the stream lasts', () =>
  runInSimulation('memory', async ({ clock }) => {
    const response = new FakeResponse();
    const { signal } = new AbortController();
    const sentEvents: WeakRef<ServerSentEvent>[] = [];
    async function* source(): AsyncGenerator<ServerSentEvent> {
      for (let n = 0; n < 100; n += 1) {
        const event = tick(n);
        sentEvents.push(new WeakRef(event));
        yield event;
      }
      await clock.sleep(10_000);
    }
    const sent = sendEvents({ clock, response: response.asResponse() }, source(), { signal });
    await clock.sleep(1_000);
    expect(response.written).toHaveLength(100);
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    await new Promise((resolve) => setImmediate(resolve)); // a WeakRef keeps its target alive until the end of the turn
    collectGarbage();
    const held = sentEvents.filter((event) => event.deref() !== undefined);
    expect(held.length).toBeLessThan(5);
    await sent;
  }));

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
}
