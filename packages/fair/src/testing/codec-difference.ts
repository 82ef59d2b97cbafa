// Compares our codec with Protobuf-ES on any bytes. What ours reads, Protobuf-ES reads to the same values; what ours
// refuses, Protobuf-ES refuses too, unless it is one of the few things that are no part of a contract.

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

/** Of fields with another wire type, groups, numbers above their type, and members that end outside of the whole. */
const stricterReasons =
  /has wire type [0-7]|takes more than (32 bits|64 bits|10 bytes)|beyond the end|inside a field/;

/** Reads the bytes as a request and as a response; undefined when both times both agree. */
export function differenceOf(bytes: Uint8Array): CodecDifference | undefined {
  const request = {
    ours: ours(() => plainRequest(decodeSyncRequest(bytes, noLimit))),
    theirs: theirs(() => plainFairRequest(parseFairSyncRequest(bytes))),
  };
  if (isDifferent(request)) return { message: 'request', bytes, ...request };
  const response = {
    ours: ours(() => plainResponse(decodeSyncResponse(bytes))),
    theirs: theirs(() => plainFairResponse(parseFairSyncResponse(bytes))),
  };
  return isDifferent(response) ? { message: 'response', bytes, ...response } : undefined;
}

function isDifferent(read: Pick<CodecDifference, 'ours' | 'theirs'>): boolean {
  if (!(read.ours instanceof SynclineError)) return !isDeepStrictEqual(read.ours, read.theirs);
  return read.theirs !== undefined && !stricterReasons.test(read.ours.message);
}

/** The error when refused. Any other error is a bug and comes through. */
function ours(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    if (error instanceof SynclineError && error.code === 'invalid-argument') return error;
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
