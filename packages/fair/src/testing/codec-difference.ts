// Compares our codec with a reference on any bytes: both refuse them, or both read the same.
//
// The reference is given, so that Protobuf-ES stays out of what users install.

import { isDeepStrictEqual } from 'node:util';
import { SynclineError } from '@syncline/kernel';
import type { FairSyncRequest, FairSyncResponse } from '@syncline/protocol/fair-state';
import { decodeSyncRequest, decodeSyncResponse } from '../wire/sync-codec.js';
import { plainFairRequest, plainFairResponse, plainRequest, plainResponse } from './plain-sync.js';

/** Both throw on bytes that they refuse. */
export interface CodecReference {
  readRequest(bytes: Uint8Array): FairSyncRequest;
  readResponse(bytes: Uint8Array): FairSyncResponse;
}

export interface CodecDifference {
  readonly message: 'request' | 'response';
  readonly bytes: Uint8Array;
  readonly ours: unknown;
  readonly theirs: unknown;
}

const noLimit = { elementsMax: Number.POSITIVE_INFINITY };

/** What the bytes are read as, request and response in turn; undefined where both agree. */
export function differenceOf(
  bytes: Uint8Array,
  reference: CodecReference,
): CodecDifference | undefined {
  const request = {
    ours: ours(() => plainRequest(decodeSyncRequest(bytes, noLimit))),
    theirs: theirs(() => plainFairRequest(reference.readRequest(bytes))),
  };
  if (!isDeepStrictEqual(request.ours, request.theirs)) {
    return { message: 'request', bytes, ...request };
  }
  const response = {
    ours: ours(() => plainResponse(decodeSyncResponse(bytes))),
    theirs: theirs(() => plainFairResponse(reference.readResponse(bytes))),
  };
  if (!isDeepStrictEqual(response.ours, response.theirs)) {
    return { message: 'response', bytes, ...response };
  }
  return undefined;
}

/** Undefined when refused. Any other error is a bug and comes through. */
function ours(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    if (error instanceof SynclineError && error.code === 'invalid-argument') return undefined;
    throw error;
  }
}

function theirs(read: () => unknown): unknown {
  try {
    return read();
  } catch {
    return undefined;
  }
}
