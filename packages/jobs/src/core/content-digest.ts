// Tells a retry from another write under the same event id.
//
// It protects a caller from its own mistakes, not from an adversary: whoever may write a key may write it
// anyway. So 128 bits of a hash without a key do.
import { murmur3x64x128 } from '@syncline/kernel';
import type { StateWrite } from '../job-store.js';
import { canonicalJson } from './canonical-json.js';

/** Of status, message, payload and schema version, as 32 hexadecimal digits. */
export function contentDigest(
  write: Pick<StateWrite, 'status' | 'message' | 'payload' | 'schemaVersion'>,
): string {
  const { status, message, payload = null, schemaVersion } = write;
  const text = canonicalJson([status, message, schemaVersion, payload]);
  return murmur3x64x128(Buffer.from(text))
    .map((word) => word.toString(16).padStart(16, '0'))
    .join('');
}
