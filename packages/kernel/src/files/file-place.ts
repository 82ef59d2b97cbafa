// Positions in a file: checked before the disk is used, in the same way by every implementation.
import { SynclineError } from '../error.js';

export function checkPlace(offset: number, length: number): void {
  checkWhole('offset', offset);
  checkWhole('length', length);
}

/** A file can be cut to a shorter length, never extended. */
export function checkCut(length: number, fileLength: number): void {
  checkWhole('length', length);
  if (length <= fileLength) return;
  throw new SynclineError(
    'invalid-argument',
    `cannot truncate a file of ${fileLength} bytes to ${length} bytes`,
    { details: { field: 'length', value: length } },
  );
}

function checkWhole(field: 'offset' | 'length', value: number): void {
  if (Number.isSafeInteger(value) && value >= 0) return;
  throw new SynclineError(
    'invalid-argument',
    `${field} must be an integer of at least 0, not ${value}`,
    { details: { field, value } },
  );
}
