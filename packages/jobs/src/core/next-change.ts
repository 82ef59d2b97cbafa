// The next change of a job: one revision further, and a timestamp that never falls.
//
// J1   Revisions rise by exactly one.
// J19  A clock that stepped back is waited for: the timestamp stays until it has caught up.
import { assert } from '@syncline/kernel';
import type { HeadRow } from './rows.js';

export function nextChange(head: HeadRow, nowMs: number): HeadRow {
  assert(head.revision < Number.MAX_SAFE_INTEGER, 'J1: revisions stay below 2^53');
  return {
    ...head,
    revision: head.revision + 1,
    timestampMs: Math.max(head.timestampMs, Math.floor(nowMs)),
  };
}
