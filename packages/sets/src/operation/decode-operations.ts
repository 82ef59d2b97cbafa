// Reads a journal record, or what a peer has pushed, and checks all that can be checked without the state.
import { SynclineError } from '@syncline/kernel';
import type { Operation } from './operation.js';

/** `corrupt` for what was stored here, `invalid-argument` for what somebody sent. */
export type DecodeFailure = 'corrupt' | 'invalid-argument';

/**
 * One operation at a time, each whole and checked before it is shown. Bytes that are wrong further on throw
 * further on.
 */
export function* decodeOperations(
  bytes: Uint8Array,
  failure: DecodeFailure = 'corrupt',
): Iterable<Operation> {
  if (bytes.length > 0) throw new SynclineError(failure, 'not built yet');
}
