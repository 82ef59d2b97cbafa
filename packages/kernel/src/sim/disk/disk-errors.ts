// What a simulated disk says when it fails: the same codes and outcomes as a real one.
import { SynclineError } from '../../error.js';

export const FULL_REASON = 'no space left on device (simulated)';
export const FAILED_REASON = 'input/output error on sync (simulated)';

export function fullDisk(subject: string): SynclineError {
  return new SynclineError('storage-full', `cannot write ${subject}: ${FULL_REASON}`, {
    details: { subject },
  });
}

/** `now`: this very operation failed. `before`: an earlier one did, and this one was not tried. */
export function failedDisk(subject: string, when: 'now' | 'before'): SynclineError {
  const reason = when === 'now' ? FAILED_REASON : 'an earlier sync failed. Restart the process';
  return new SynclineError('storage-failed', `cannot write ${subject}: ${reason}`, {
    outcome: when === 'now' ? 'unknown' : 'not-applied',
    details: { subject },
  });
}

export function closedStore(subject: string): SynclineError {
  return new SynclineError('closed', `the store ${subject} is closed`, { details: { subject } });
}

export function reopeningStore(subject: string): SynclineError {
  const next = 'Wait for whenReadable() before reading';
  return new SynclineError('unavailable', `the store ${subject} is being reopened. ${next}`, {
    details: { subject },
  });
}
