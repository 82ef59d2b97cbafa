// The content of a cursor, for checkers of streams. Callers treat cursors as opaque; a checker must know the
// incarnation and revision of an event. It does not use the stores' own parser, so that a bug in it shows.
import type { Cursor } from '../../job-store.js';

export interface CursorParts {
  /** The incarnation, perhaps with a suffix that the store adds after a dash. */
  readonly base: string;
  readonly revision: number;
  readonly isInReplay: boolean;
}

const FORM = /^([A-Za-z0-9-]+):(\d{1,16})(~?)$/;

/** Undefined: it is not a cursor. */
export function readCursor(cursor: string): CursorParts | undefined {
  const [, base, revision, mark] = FORM.exec(cursor) ?? [];
  if (base === undefined || revision === undefined) return undefined;
  return { base, revision: Number(revision), isInReplay: mark === '~' };
}

export function writeCursor({ base, revision, isInReplay }: CursorParts): Cursor {
  return `${base}:${revision}${isInReplay ? '~' : ''}` as Cursor;
}

/** The base of a cursor is its incarnation, or begins with it and a dash. */
export function isOfIncarnation(base: string, incarnation: string): boolean {
  return base === incarnation || base.startsWith(`${incarnation}-`);
}
