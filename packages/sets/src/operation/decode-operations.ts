// Reads a journal record, or what a peer has pushed: a syncline.mesh.v1.Operations message.
import type { Operation } from './operation.js';
import { OperationReader } from './operation-reader.js';
import { type DecodeFailure, WireCursor } from './wire-cursor.js';

/**
 * One operation at a time, each wholly checked before it is shown, and valid until the next is asked for.
 * Bytes that are wrong further on throw further on.
 */
export function* decodeOperations(
  bytes: Uint8Array,
  failure: DecodeFailure = 'corrupt',
): Iterable<Operation> {
  const reader = new OperationReader(new WireCursor(bytes, failure));
  while (reader.next()) yield reader;
}
