// The events of a job as server-sent events: `event` is the kind, `id` the cursor, `data` the event as JSON.
//
// The policy is `coalesce`: a browser that sleeps gets the latest state of each key when it wakes, and a `gap` that
// says so. The first event is awaited before the response begins, so that an unknown job or a wrong cursor is an
// error with its status and not a broken stream.
import type { Cursor, JobEvent, JobStore } from '@syncline/jobs';
import type { HttpReply, HttpRequest, ServerSentEvent } from '../../http/http-route.js';
import { includeOf, scopeOf } from './job-query.js';

export async function openJobEvents(store: JobStore, request: HttpRequest): Promise<HttpReply> {
  const { query, signal } = request;
  const after = cursorOf(request);
  const subscription = store.subscribe(request.params['job'] ?? '', {
    scope: scopeOf(query),
    include: includeOf(query),
    overflow: 'coalesce',
    signal,
    ...(after === undefined ? {} : { after }),
  });
  const events = subscription[Symbol.asyncIterator]();
  const first = await events.next();
  return { kind: 'events', events: framed(first, events) };
}

/** A client that reconnects sends its last event id, which is newer than the `after` it began with. */
function cursorOf({ headers, query }: HttpRequest): Cursor | undefined {
  const lastEventId = headers['last-event-id'];
  const text =
    typeof lastEventId === 'string' && lastEventId !== '' ? lastEventId : query.get('after');
  return text === null ? undefined : (text as Cursor);
}

/** Not a generator: its `return` would wait for a `next` that waits for an event. */
function framed(
  first: IteratorResult<JobEvent>,
  events: AsyncIterator<JobEvent>,
): AsyncIterable<ServerSentEvent> {
  let pending: IteratorResult<JobEvent> | undefined = first;
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        const result = pending ?? (await events.next());
        pending = undefined;
        return result.done === true ? result : { done: false, value: frameOf(result.value) };
      },
      async return() {
        await events.return?.();
        return { done: true, value: undefined };
      },
    }),
  };
}

function frameOf(event: JobEvent): ServerSentEvent {
  return 'cursor' in event
    ? { event: event.kind, id: event.cursor, data: event }
    : { event: event.kind, data: event };
}
