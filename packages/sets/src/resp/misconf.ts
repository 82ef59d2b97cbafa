// What a client is told when a change could not be stored. Redis has the prefix for its own disk troubles.
import type { SynclineError } from '@syncline/kernel';

export function misconfText(error: SynclineError): string {
  return `MISCONF ${error.message}`;
}
