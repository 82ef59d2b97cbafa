// What the mesh reads of an operation: who made it, its counters and its causes. The body stays bytes.
//
// An operation is only decoded as far as delivery needs it, so that pushing it on costs little and a new kind of
// body needs no change here.
import { type ActorId, actorId, DOT_BYTES, VersionVector } from '@syncline/kernel';
import { delimitedTag, varintTag, WireReader } from './wire.js';

export interface OperationHead {
  readonly actor: ActorId;
  /** The first of its counters. */
  readonly base: number;
  /** The last of them. */
  readonly last: number;
  /** Counters of other actors that must be applied before it. Undefined: none. */
  readonly dependencies: VersionVector | undefined;
  /** With tag and length, a view of the message that it came in. */
  readonly encoded: Uint8Array;
}

const operationTag = delimitedTag(1);
const dotTag = delimitedTag(1);
const countTag = varintTag(2);
const dependenciesTag = delimitedTag(3);
const bodyTag = delimitedTag(4);
const wordEnd = 2 ** 32;

/** One after the other from an Operations message. Bytes that are wrong further on throw further on. */
export function* readOperationHeads(message: Uint8Array): Iterable<OperationHead> {
  const reader = new WireReader(message);
  while (!reader.isAtEnd) {
    const start = reader.position;
    const end = skipTag(reader);
    yield readHead(message, start, reader.position, end);
    reader.position = end;
  }
}

/** How many operations a message has. Only tags and lengths are looked at. */
export function countOperations(message: Uint8Array): number {
  const reader = new WireReader(message);
  let count = 0;
  for (; !reader.isAtEnd; count += 1) reader.position = skipTag(reader);
  return count;
}

/** Gives where the operation at the reader ends. */
function skipTag(reader: WireReader): number {
  const tag = reader.varint();
  if (tag !== operationTag) reader.fail(`field tag ${tag} is unknown in a list of operations`);
  return reader.delimitedEnd();
}

function readHead(message: Uint8Array, start: number, from: number, end: number): OperationHead {
  const reader = new WireReader(message, from, end);
  let actor: ActorId | undefined;
  let base = 0;
  let count = 0;
  let dependencies: VersionVector | undefined;
  let hasBody = false;
  while (!reader.isAtEnd) {
    const tag = reader.varint();
    if (tag === dotTag && actor === undefined) {
      const at = dotAt(reader);
      actor = actorId(
        (message[at] ?? 0) * 256 + (message[at + 1] ?? 0),
        wordAt(message, at) & 0xffff,
      );
      base = wordAt(message, at + 4) * wordEnd + wordAt(message, at + 8);
    } else if (tag === countTag && count === 0) {
      count = reader.varint();
    } else if (tag === dependenciesTag && dependencies === undefined) {
      dependencies = VersionVector.fromBytes(reader.delimited());
    } else if (tag === bodyTag && !hasBody) {
      hasBody = true;
      reader.position = reader.delimitedEnd();
    } else {
      reader.fail(`field tag ${tag} is unknown in an operation, or comes twice`);
    }
  }
  if (actor === undefined) return reader.fail('an operation has no dot');
  if (count === 0) reader.fail('an operation takes no counter');
  if (base < 1 || base > Number.MAX_SAFE_INTEGER - (count - 1)) {
    reader.fail(`${count} counters from ${base} on are not within 1 to 2^53 - 1`);
  }
  if (dependencies !== undefined && dependencies.counterOf(actor) > 0) {
    reader.fail('an operation depends on its own actor');
  }
  const encoded = message.subarray(start, end);
  return { actor, base, last: base + count - 1, dependencies, encoded };
}

function dotAt(reader: WireReader): number {
  const end = reader.delimitedEnd();
  const at = reader.position;
  if (end - at !== DOT_BYTES) reader.fail(`a dot has ${end - at} bytes, not ${DOT_BYTES}`);
  reader.position = end;
  return at;
}

function wordAt(bytes: Uint8Array, at: number): number {
  const high = ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
  return high * 65_536 + (((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0));
}
