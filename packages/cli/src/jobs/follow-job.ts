// The events of a job over as many connections as it takes: one that is lost is opened again behind the last
// event that came, so that nothing is missing and nothing comes twice.
//
// The first connection must succeed, since a mistake in a URL or a name should be told at once. Later ones are
// tried until the signal fires, or the server says that there is no such job any more.
import type { JobEvent, Scope } from '@syncline/jobs';
import { backoffMs, type Clock, type Random, SynclineError } from '@syncline/kernel';
import { cliLimits } from '../limits.js';
import { parseJson, readAnswer, refusalOf, sendRequest } from '../status/server-request.js';
import type { StatusTarget } from '../status/status-target.js';
import { unreachableError } from '../status/unreachable-error.js';
import { isJobEvent } from './job-answers.js';
import { forPeople, jobPath, scopeQuery } from './job-target.js';

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
  /** What came at once. None is a sign of life: what is held is as new as it can be. */
  | { readonly kind: 'events'; readonly events: readonly JobEvent[] }
  /** Out of reach, since when by this wall clock, and why. It is tried again. */
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
      if (!hasConnected || !isWorthWaiting(thrown)) throw forPeople(thrown, options.jobId);
      reason = thrown.message.replace(/\.\s.*$/s, ''); // the advice is for those who begin
    }
    if (signal.aborted) return;
    yield { kind: 'down', reason, event: { kind: 'stale', sinceMs, attempt: attempt + 1 } };
    const wait = { initialMs: 250, maxMs: cliLimits.reconnectMaxMs.value, jitter: 'half' } as const;
    await clock.sleep(backoffMs(attempt, wait, random), signal).catch(() => undefined);
  }
}

/**
 * One connection. It ends when the server ends it, when nothing comes for too long, or when the signal fires. Throws a
 * refusal as the error that the server gave, and a lost connection as `unavailable`.
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
    const parser = new EventParser();
    response.setEncoding('utf8');
    for await (const text of response as AsyncIterable<string>) {
      silence.refresh();
      yield parser.feed(text).map(parseEvent);
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

/**
 * The data of server-sent events, out of a stream of text however it was cut. As the HTML standard has it, less what our
 * server never sends: `retry`, and lines that end in a lone CR. The name and the id of an event stand in its data too.
 */
export class EventParser {
  #rest = '';
  #data: string | undefined;

  /** What the text completes. */
  feed(text: string): readonly string[] {
    const events: string[] = [];
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const ended of lines) {
      const line = ended.endsWith('\r') ? ended.slice(0, -1) : ended;
      if (line === '') {
        if (this.#data !== undefined) events.push(this.#data);
        this.#data = undefined;
      } else if (line.startsWith('data:')) {
        const value = line.slice(line.startsWith('data: ') ? 6 : 5);
        this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
      }
    }
    if (this.#rest.length + (this.#data?.length ?? 0) <= cliLimits.eventBytesMax.value)
      return events;
    const message = 'the server sent an event that is too large to come from Syncline';
    throw new SynclineError('unavailable', message);
  }
}

function parseEvent(data: string): JobEvent {
  let event: unknown;
  try {
    event = JSON.parse(data);
  } catch {
    // It is refused below, as any other value that is no event.
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
