// The text of a cursor: `base:revision`, and `~` at the end inside a replay.
//
// `base` names what the revision counts in: the incarnation of the job, and for a store that may have lost
// revisions which it had shown, also how often that happened. A cursor of another base starts anew.
import { SynclineError } from '@syncline/kernel';
import type { Cursor } from './job-event.js';

export type CursorParts = Readonly<{
  base: string;
  revision: number;
  /** Only a part of the replay was seen: what is at or below `revision`. */
  isReplaying: boolean;
}>;

const CURSOR = /^([A-Za-z0-9-]{1,128}):(0|[1-9][0-9]{0,15})(~?)$/;

export function formatCursor(base: string, revision: number, isReplaying = false): Cursor {
  return `${base}:${revision}${isReplaying ? '~' : ''}` as Cursor;
}

/** What is malformed is `invalid-argument` with `details.field` = `after`. */
export function parseCursor(text: string): CursorParts {
  const [, base, digits, mark] = CURSOR.exec(text) ?? [];
  const revision = Number(digits);
  if (base === undefined || !Number.isSafeInteger(revision)) throw malformed(text);
  return { base, revision, isReplaying: mark === '~' };
}

function malformed(text: string): SynclineError {
  const shown = JSON.stringify(String(text).slice(0, 64));
  return new SynclineError(
    'invalid-argument',
    `the cursor ${shown} is malformed. Pass on the cursor of an event as it came, or none to start anew.`,
    { details: { field: 'after' } },
  );
}
