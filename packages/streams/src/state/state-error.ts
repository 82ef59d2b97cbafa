// The errors of states, each created in one place so that code, message and details are consistent.
import { SynclineError } from '@syncline/kernel';
import { streamsLimits } from '../limits.js';

/** A key, version or value that cannot be stored without changing it. */
export function badRecord(message: string, cause?: unknown): SynclineError {
  return new SynclineError('bad-record', message, cause === undefined ? {} : { cause });
}

export function limitExceeded(limit: keyof typeof streamsLimits, message: string): SynclineError {
  return new SynclineError('limit-exceeded', message, { details: { limit } });
}

/** Where damage was found, in bytes from the start of `source`. */
export interface Damage {
  readonly offset: number;
  readonly expected: string;
  readonly found: string;
}

/** `source` is what was read, such as `snapshot`. */
export function corrupt(source: string, damage: Damage, cause?: unknown): SynclineError {
  const { offset, expected, found } = damage;
  return new SynclineError(
    'corrupt',
    `${source} is damaged at byte ${offset}: expected ${expected}, found ${found}`,
    { details: { source, offset, expected, found }, ...(cause !== undefined && { cause }) },
  );
}

/** `what` has a version that is higher than this release can read. */
export function tooNew(what: string, found: number, supported: number): SynclineError {
  return new SynclineError(
    'too-new',
    `${what} has version ${found}, but this program reads versions up to ${supported}. ` +
      'A newer release wrote it; upgrade to read it.',
    { details: { found, supported } },
  );
}

/** The data does not match what was requested in `field`. */
export function incompatible(
  what: string,
  field: string,
  expected: unknown,
  found: unknown,
): SynclineError {
  return new SynclineError(
    'incompatible',
    `${what} has ${field} ${JSON.stringify(found)}, but the state was opened with ${JSON.stringify(expected)}`,
    { details: { field, expected, found } },
  );
}

/** Adds the state and the key to an error from a codec or a check. */
export function inState(uid: string, key: string, thrown: unknown): SynclineError {
  const error = SynclineError.from(thrown, 'bad-record');
  return new SynclineError(error.code, `state "${uid}", key ${key}: ${error.message}`, {
    details: { ...error.details, uid, key },
    cause: error,
  });
}

/** Bytes for an error message: text if printable, otherwise hex; truncated to `conflictValueBytesMax`. */
export function showBytes(bytes: Uint8Array): string {
  const bytesMax = streamsLimits.conflictValueBytesMax.value;
  const shown = Buffer.from(bytes.subarray(0, bytesMax));
  const more = bytes.length > bytesMax ? '…' : '';
  const isText = shown.length > 0 && shown.every((byte) => byte >= 0x20 && byte < 0x7f);
  return isText ? `${shown.toString('latin1')}${more}` : `0x${shown.toString('hex')}${more}`;
}
