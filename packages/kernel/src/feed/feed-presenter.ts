// How one subscriber sees events. A slice with its own events provides its own presenter; what it returns for a
// change may be one object shared by all subscribers, so that a change costs each of them a pointer.
import { SynclineError } from '../error.js';
import type { FeedChange, FeedEvent, FeedGap, FeedPosition, FeedStale } from './feed-event.js';

/** Called for each event when it is delivered, in order. */
export interface FeedPresenter<C extends FeedChange, E> {
  snapshot(change: C): E;
  synced(revision: number, resumed: boolean): E;
  change(change: C): E;
  gap(gap: FeedGap): E;
  stale(stale: FeedStale): E;
  live(revision: number): E;
  /** Under `fail`: what is thrown after the last event, with where to resume. */
  overflow(revision: number): SynclineError;
  /** The feed has failed: the error with where to resume. */
  failure(error: SynclineError, position: FeedPosition | undefined): SynclineError;
  /** The first pull. */
  onOpen(): void;
  /** Changes are delivered from the buffer; this is the oldest of the batch. */
  onLive(oldest: C): void;
  /** The buffer was full, or the subscription was closed with changes in it; they are dropped. */
  onDrop(reason: 'full' | 'closed'): void;
  /** Called once, whatever the reason. */
  onEnd(): void;
}

export function plainPresenter<C extends FeedChange>(): FeedPresenter<C, FeedEvent<C>> {
  return {
    snapshot: (change) => ({ kind: 'snapshot', change }),
    synced: (revision, resumed) => ({ kind: 'synced', revision, resumed }),
    change: (change) => ({ kind: 'change', change }),
    gap: (gap) => gap,
    stale: (stale) => stale,
    live: (revision) => ({ kind: 'live', revision }),
    overflow: (revision) =>
      new SynclineError(
        'overflow',
        'the subscriber was too slow and its buffer is full. Resume after details.revision',
        { details: { revision } },
      ),
    failure: (error) => error,
    onOpen() {},
    onLive() {},
    onDrop() {},
    onEnd() {},
  };
}
