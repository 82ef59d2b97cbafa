// The tags of an operation, and its dots. Reading is stricter than Protobuf: a field that is not known is refused, and
// so is one that comes twice where one is expected. An operation that is only half understood must not be applied,
// since nodes would then differ for good; a new field needs a new version of the protocol.
import type { WireReader } from '@syncline/kernel/wire';

const varint = 0;
const delimited = 2;
const wordEnd = 2 ** 32;

/**
 * Field number and wire type in one byte, of syncline.mesh.v1.Operations and syncline.sets.v1.Change:
 *
 *   Operations { operations = 1 }   Operation { dot = 1; count = 2; dependencies = 3; body = 4 }
 *   the body, Change { sets = 1; dropped = 2 }   SetChange { set = 1; add = 2; remove = 3 }
 */
export const tags = {
  operation: (1 << 3) | delimited,
  dot: (1 << 3) | delimited,
  count: (2 << 3) | varint,
  dependencies: (3 << 3) | delimited,
  body: (4 << 3) | delimited,
  sets: (1 << 3) | delimited,
  dropped: (2 << 3) | delimited,
  set: (1 << 3) | delimited,
  add: (2 << 3) | delimited,
  remove: (3 << 3) | delimited,
} as const;

/** The actor of the dot at the cursor. */
export function actorAt(cursor: WireReader): number {
  const actor = cursor.view.getUint32(cursor.position);
  if (actor >>> 16 === 0) cursor.fail('a dot is of node 0, which no node has');
  return actor;
}

/** The counter of the dot at the cursor. */
export function counterAt(cursor: WireReader): number {
  const high = cursor.view.getUint32(cursor.position + 4);
  const counter = high * wordEnd + cursor.view.getUint32(cursor.position + 8);
  if (counter < 1 || counter > Number.MAX_SAFE_INTEGER) {
    cursor.fail(`counter ${counter} is not from 1 to 2^53 - 1`);
  }
  return counter;
}
