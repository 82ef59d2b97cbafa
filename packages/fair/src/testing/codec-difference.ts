// Compares our codec with Protobuf-ES on any bytes: both must refuse them, or both read the same.

import { isDeepStrictEqual } from 'node:util';
import { SynclineError } from '@syncline/kernel';
import { parseFairSyncRequest, parseFairSyncResponse } from '@syncline/protocol/fair-state';
import { decodeSyncRequest, decodeSyncResponse } from '../wire/sync-codec.js';
import { plainFairRequest, plainFairResponse, plainRequest, plainResponse } from './plain-sync.js';

export interface CodecDifference {
  readonly message: 'request' | 'response';
  readonly bytes: Uint8Array;
  readonly ours: unknown;
  readonly theirs: unknown;
}

const noLimit = { elementsMax: Number.POSITIVE_INFINITY };

/** Reads the bytes as a request and as a response; undefined when both times both agree. */
export function differenceOf(bytes: Uint8Array): CodecDifference | undefined {
  const request = {
    ours: ours(() => plainRequest(decodeSyncRequest(bytes, noLimit))),
    theirs: theirs(() => plainFairRequest(parseFairSyncRequest(bytes))),
  };
  if (!isDeepStrictEqual(request.ours, request.theirs)) {
    return { message: 'request', bytes, ...request };
  }
  const response = {
    ours: ours(() => plainResponse(decodeSyncResponse(bytes))),
    theirs: theirs(() => plainFairResponse(parseFairSyncResponse(bytes))),
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
