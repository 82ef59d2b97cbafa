// The content of a change, to compare it with what was seen. The expiry of a lease is left out: a renewal moves it
// without a revision.
import { isDeepStrictEqual } from 'node:util';
import type { TaskLease } from '../../job.js';
import type { JobEvent } from '../../job-store.js';
import type { JobChange } from './keys.js';

export function contentOfChange(change: JobChange): unknown {
  switch (change.kind) {
    case 'state':
      return change.state;
    case 'lease':
      return contentOfLease(change.lease);
    case 'job':
      return change.job;
  }
}

/** Undefined for what delivers no change. */
export function contentOfEvent(event: JobEvent): unknown {
  switch (event.kind) {
    case 'snapshot':
    case 'change':
      return event.state;
    case 'lease':
      return contentOfLease(event.lease);
    case 'job':
      return event.job;
    case 'synced':
    case 'gap':
    case 'stale':
    case 'live':
      return undefined;
  }
}

export function isSameContent(left: unknown, right: unknown): boolean {
  return isDeepStrictEqual(left, right);
}

function contentOfLease(lease: TaskLease): unknown {
  return { ...lease, expiresAtMs: 0 };
}
