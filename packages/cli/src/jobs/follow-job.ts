// The events of a job over as many connections as it takes: one that is lost is opened again behind the last
// event that came, so that nothing is missing and nothing comes twice.
//
// The first connection must succeed, since a mistake in a URL or a name should be told at once. Later ones are
// tried until the signal fires, or the server says that there is no such job any more.
import type { JobEvent, Scope } from '@syncline/jobs';
import { backoffMs, type Clock, type Random, SynclineError } from '@syncline/kernel';
import { cliLimits } from '../limits.js';
import type { StatusTarget } from '../status/status-target.js';
import { openEventStream } from './event-stream.js';
import { isJobEvent } from './job-answers.js';
import { jobPath, scopeQuery } from './job-target.js';
import { forPeople } from './no-such-job.js';

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
    let reason = 'the server has ended the connection';
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

async function* connectOnce(
  { target }: FollowDeps,
  options: FollowOptions,
  lastEventId: string | undefined,
): AsyncGenerator<readonly JobEvent[]> {
  const { signal } = options;
  for await (const items of openEventStream(target, {
    path: pathOf(options),
    lastEventId,
    signal,
  })) {
    yield items.flatMap((item) => (item.kind === 'event' ? [parseEvent(item.data)] : []));
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
    `the server sent an event that is none of a job: ${data.slice(0, 100)}. Is it of another version?`,
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
