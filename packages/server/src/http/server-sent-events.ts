// Sends events over one response, as fast as the client reads.
//
// Events are pulled one at a time, so a slow client costs one event and the socket buffer. While it does not
// read, nothing more is written, and the stall timeout of the HTTP server ends the connection.
import type { ServerResponse } from 'node:http';
import type { Clock, Timer } from '@syncline/kernel';
import { AbortableWaits } from '../abortable-waits.js';
import { serverLimits } from '../limits.js';
import type { ServerSentEvent } from './http-route.js';

export interface EventStreamOptions {
  /** Fires when the client disconnects or the server drains. */
  readonly signal: AbortSignal;
}

/** Sends until the events end or the signal fires, then ends the response. */
export async function sendEvents(
  deps: { readonly clock: Clock; readonly response: ServerResponse },
  events: AsyncIterable<ServerSentEvent>,
  options: EventStreamOptions,
): Promise<void> {
  const { response } = deps;
  const { signal } = options;
  const iterator = events[Symbol.asyncIterator]();
  const waits = new AbortableWaits(signal);
  const comments = new CommentTimer(deps.clock, response);
  try {
    while (!signal.aborted) {
      const next = await waits.wait(iterator.next());
      if (next === 'aborted' || next.done === true) break;
      if (!response.write(formatEvent(next.value))) await untilDrained(response, signal);
    }
  } finally {
    comments.stop();
    // Not awaited: this would block until the source has its next event.
    iterator.return?.().then(undefined, () => undefined);
    response.end();
  }
}

/** The result has no stray line breaks: JSON escapes them, and names and ids are truncated at the first one. */
export function formatEvent(sent: ServerSentEvent): string {
  const { event, id } = sent;
  const json = 'encoded' in sent ? sent.encoded : JSON.stringify(sent.data);
  const idLine = id === undefined ? '' : `id: ${oneLine(id)}\n`;
  return `event: ${oneLine(event)}\n${idLine}data: ${json}\n\n`;
}

function oneLine(text: string): string {
  return text.replace(/[\r\n\0].*$/s, '');
}

/** Keeps proxies from closing an idle stream, and shows the client that the server is alive. */
class CommentTimer {
  readonly #clock: Clock;
  readonly #response: ServerResponse;
  #timer: Timer;

  constructor(clock: Clock, response: ServerResponse) {
    this.#clock = clock;
    this.#response = response;
    this.#timer = this.#start();
  }

  stop(): void {
    this.#timer.cancel();
  }

  #start(): Timer {
    return this.#clock.setTimer(serverLimits.eventsCommentIntervalMs.value, () => {
      if (!this.#response.writableNeedDrain) this.#response.write(':\n\n');
      this.#timer = this.#start();
    });
  }
}

function untilDrained(response: ServerResponse, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = (): void => {
      response.off('drain', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    response.once('drain', done);
    signal.addEventListener('abort', done, { once: true });
  });
}
