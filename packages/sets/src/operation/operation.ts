// An operation as it was decoded: offsets into the bytes that it came in. It is reused for the next one.
//
// S3  Each added member has a dot of its own: counters from `base` on, in the order of the members.
import type { ActorId, VersionVector } from '@syncline/kernel';
import type { ByteList } from '../byte-list.js';
import type { DotList } from './dot-list.js';

/** Valid until the next one is decoded. */
export interface Operation {
  readonly actor: ActorId;
  /** Where it lies in the bytes that it was decoded from, with its tag and length. */
  readonly start: number;
  readonly end: number;
  /** The first of its `count` counters. */
  readonly base: number;
  readonly count: number;
  /** What of other actors its writer had applied since its last operation. */
  readonly dependencies: VersionVector;
  /** Names of sets. One may come again. */
  readonly sets: ByteList;
  /** The members that it changes, each once. */
  readonly members: ByteList;
  /** Sorted. Each is a dot that one of the members had. */
  readonly dropped: DotList;
  /** The set of a member, as an index of `sets`. */
  setOf(member: number): number;
  /** The counter of a member's new dot; 0 when it is removed. */
  counterOf(member: number): number;
}
