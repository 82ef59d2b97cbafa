// Streams the events of a job and reconnects when a connection is lost, resuming after the last event received,
// with no gaps and no duplicates.
//
// The first connection must succeed, so that a wrong URL or name is reported at once. After that it reconnects
// until the signal fires or the server says that the job no longer exists.
import type { JobEvent, Scope } from '@syncline/jobs';
import { backoffMs, type Clock, type Random, SynclineError } from '@syncline/kernel';
import { createParser } from 'eventsource-parser';
import { cliLimits } from '../limits.js';
import { parseJson, readAnswer, refusalOf, sendRequest } from '../status/server-request.js';
import type { StatusTarget } from '../status/status-target.js';
import { unreachableError } from '../status/unreachable-error.js';
import { isJobEvent } from './job-answers.js';
import { jobPath, scopeQuery, toCliError } from './job-target.js';

export interface FollowDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly target: StatusTarget;
}

export interface FollowOptions {
  readonly jobId: string;
  readonly scope: Scope;
  readonly after?: string;
  readonly include: readonly ('lease' | 'job')[];
  readonly signal: AbortSignal;
}

export type FollowItem =
  /** The events of one chunk. An empty list is a keep-alive: everything received so far is current. */
  | { readonly kind: 'events'; readonly events: readonly JobEvent[] }
  /** The server is unreachable; `event.sinceMs` is wall-clock time. Another attempt follows. */
  | {
      readonly kind: 'down';
      readonly event: JobEvent & { kind: 'stale' };
      readonly reason: string;
    };

export async function* followJob(
  deps: FollowDeps,
  options: FollowOptions,
): AsyncGenerator<FollowItem> {
  const { clock, random } = deps;
  const { signal } = options;
  let cursor = options.after;
  let hasConnected = false;
  let sinceMs = clock.nowMs();
  for (let attempt = 0; !signal.aborted; attempt += 1) {
    let reason = 'the server closed the connection';
    try {
      for await (const events of connectOnce(deps, options, cursor)) {
        hasConnected = true;
        attempt = 0;
        sinceMs = clock.nowMs();
        yield { kind: 'events', events };
        cursor = events.findLast((event) => 'cursor' in event)?.cursor ?? cursor;
        if (events.some((event) => event.kind === 'gap' && event.reason === 'deleted')) return;
      }
    } catch (thrown) {
      if (signal.aborted) return;
      if (!hasConnected || !isWorthWaiting(thrown)) throw toCliError(thrown, options.jobId);
      reason = thrown.message.replace(/\.\s.*$/s, ''); // without the advice, which is for the first attempt
    }
    if (signal.aborted) return;
    yield { kind: 'down', reason, event: { kind: 'stale', sinceMs, attempt: attempt + 1 } };
    const wait = { initialMs: 250, maxMs: cliLimits.reconnectMaxMs.value, jitter: 'half' } as const;
    await clock.sleep(backoffMs(attempt, wait, random), signal).catch(() => undefined);
  }
}

/**
 * One connection. It ends when the server closes it, after too long a silence, or when the signal fires. Throws the
 * server's own error if it refuses, and `unavailable` if the connection is lost.
 */
async function* connectOnce(
  { target }: FollowDeps,
  options: FollowOptions,
  lastEventId: string | undefined,
): AsyncGenerator<readonly JobEvent[]> {
  const { signal } = options;
  const cut = new AbortController();
  const stop = () => cut.abort();
  signal.addEventListener('abort', stop, { once: true });
  const silence = setTimeout(stop, cliLimits.streamSilenceMs.value);
  try {
    const response = await sendRequest(target, {
      method: 'GET',
      path: pathOf(options),
      headers: {
        accept: 'text/event-stream',
        ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
      },
      signal: cut.signal,
    });
    const { statusCode = 0, headers } = response;
    if (statusCode !== 200 || headers['content-type']?.startsWith('text/event-stream') !== true) {
      const body = parseJson(await readAnswer(response, cliLimits.answerBytesMax.value));
      throw refusalOf(target, statusCode, body);
    }
    let events: JobEvent[] = [];
    const parser = createParser({
      maxBufferSize: cliLimits.eventBytesMax.value,
      onEvent: ({ data }) => events.push(parseEvent(data)),
      onError: (error) => {
        if (error.type !== 'max-buffer-size-exceeded') return; // the standard ignores unknown fields
        const message = 'the server sent an event that is too large to come from Syncline';
        throw new SynclineError('unavailable', message, { cause: error });
      },
    });
    response.setEncoding('utf8');
    for await (const text of response as AsyncIterable<string>) {
      silence.refresh();
      parser.feed(text);
      yield events;
      events = [];
    }
  } catch (thrown) {
    if (thrown instanceof SynclineError) throw thrown;
    throw unreachableError(target, thrown as Error);
  } finally {
    clearTimeout(silence);
    signal.removeEventListener('abort', stop);
    cut.abort();
  }
}

function parseEvent(data: string): JobEvent {
  let event: unknown;
  try {
    event = JSON.parse(data);
  } catch {
    // Refused below, like any other value that is not an event.
  }
  if (isJobEvent(event)) return event;
  throw new SynclineError(
    'invalid-argument',
    `the server sent an unexpected event: ${data.slice(0, 100)}. It may run a different version.`,
  );
}

function pathOf({ jobId, scope, include }: FollowOptions): string {
  const query = scopeQuery(scope);
  if (include.length > 0) query.set('include', include.join(','));
  return `${jobPath(jobId)}/events?${query.toString()}`;
}

function isWorthWaiting(thrown: unknown): thrown is SynclineError {
  return thrown instanceof SynclineError && thrown.retryable;
}
