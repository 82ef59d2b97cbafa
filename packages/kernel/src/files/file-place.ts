// Where in a file to read: checked before the disk is asked, by every implementation alike.
import { SynclineError } from '../error.js';

export function checkPlace(offset: number, length: number): void {
  for (const [field, value] of Object.entries({ offset, length })) {
    if (Number.isSafeInteger(value) && value >= 0) continue;
    throw new SynclineError(
      'invalid-argument',
      `${field} is a whole number from 0 up, not ${value}`,
      { details: { field, value } },
    );
  }
}
