// What the mesh reads of an operation: its actor, its counters and its causes. The body stays bytes.
//
// An operation is only decoded as far as delivery needs it, so forwarding it is cheap, and a new kind of body
// needs no change here.
import { type ActorId, actorId, DOT_BYTES, type Dot, kernelLimits } from '@syncline/kernel';
import { WireReader } from '@syncline/kernel/wire';
import type { DeliveredOperation } from './mesh.js';

export interface OperationHead extends DeliveredOperation {
  /** The last of its counters. */
  readonly last: number;
  /** Counters of other actors that must be applied before it. */
  readonly dependencies: readonly Dot[];
}

// Field number and wire type, as they stand before a value.
const operationTag = (1 << 3) | 2;
const dotTag = (1 << 3) | 2;
const countTag = 2 << 3;
const dependenciesTag = (3 << 3) | 2;
const bodyTag = (4 << 3) | 2;
const wordEnd = 2 ** 32;
const none: readonly Dot[] = [];

/** Iterates over an Operations message. Malformed bytes throw when they are reached. */
export function* readOperationHeads(message: Uint8Array): Iterable<OperationHead> {
  const reader = new WireReader('frame', message);
  while (!reader.isAtEnd) yield readHead(reader);
}

/** The number of operations in a message. Reads only tags and lengths. */
export function countOperations(message: Uint8Array): number {
  const reader = new WireReader('frame', message);
  let count = 0;
  for (; !reader.isAtEnd; count += 1) reader.position = skipTag(reader);
  return count;
}

/** Returns where the operation at the reader ends. */
function skipTag(reader: WireReader): number {
  const tag = reader.uint32();
  if (tag !== operationTag) reader.fail(`field tag ${tag} is unknown in a list of operations`);
  return reader.delimitedEnd();
}

function readHead(reader: WireReader): OperationHead {
  const { bytes, end: messageEnd, position: start } = reader;
  const end = skipTag(reader);
  reader.end = end;
  let dotAt = 0; // none: no field begins at byte 0
  let count = 0;
  let dependencies: readonly Dot[] | undefined;
  let hasBody = false;
  while (reader.position < end) {
    const tag = reader.uint32();
    if (tag === dotTag && dotAt === 0) {
      const dotEnd = reader.delimitedEnd();
      dotAt = reader.position;
      if (dotEnd - dotAt !== DOT_BYTES) reader.fail(`a dot of ${dotEnd - dotAt} bytes`);
      reader.position = dotEnd;
    } else if (tag === countTag && count === 0) {
      count = reader.uint32();
    } else if (tag === dependenciesTag && dependencies === undefined) {
      dependencies = readDots(reader);
    } else if (tag === bodyTag && !hasBody) {
      hasBody = true;
      reader.position = reader.delimitedEnd();
    } else {
      reader.fail(`field tag ${tag} is unknown in an operation, or appears twice`);
    }
  }
  if (dotAt === 0) reader.fail('an operation has no dot');
  const actor = actorAt(reader, dotAt);
  const base = counterAt(reader, dotAt);
  if (count === 0) reader.fail('an operation takes no counter');
  if (base > Number.MAX_SAFE_INTEGER - (count - 1)) {
    reader.fail(`${count} counters from ${base} on go beyond 2^53 - 1`);
  }
  if (dependencies?.some((cause) => cause.actor === actor)) {
    reader.fail('an operation depends on its own actor');
  }
  reader.end = messageEnd;
  return {
    actor,
    base,
    count,
    last: base + count - 1,
    dependencies: dependencies ?? none,
    bytes, // a view for each operation would cost as much as reading it
    start,
    end,
  };
}

/** A copy of the operation as it was received. */
export function encodedOperation({ bytes, start, end }: DeliveredOperation): Uint8Array {
  return bytes.slice(start, end);
}

/** The dots of a field, sorted and of different actors. Without `VersionVector`, which would take twice as long. */
function readDots(reader: WireReader): readonly Dot[] {
  const end = reader.delimitedEnd();
  const length = end - reader.position;
  const entriesMax = kernelLimits.versionVectorEntriesMax.value;
  if (length % DOT_BYTES !== 0) reader.fail(`${length} bytes are not a multiple of ${DOT_BYTES}`);
  if (length > entriesMax * DOT_BYTES) reader.fail(`more than ${entriesMax} dots`);
  const dots: Dot[] = [];
  let previous = -1;
  for (; reader.position < end; reader.position += DOT_BYTES) {
    const actor = actorAt(reader, reader.position);
    if (actor <= previous) reader.fail('actors are repeated or out of order');
    previous = actor;
    dots.push({ actor, counter: counterAt(reader, reader.position) });
  }
  return dots;
}

function actorAt({ bytes }: WireReader, at: number): ActorId {
  const word = wordAt(bytes, at);
  return actorId(word >>> 16, word & 0xffff);
}

function counterAt(reader: WireReader, at: number): number {
  const counter = wordAt(reader.bytes, at + 4) * wordEnd + wordAt(reader.bytes, at + 8);
  if (counter < 1 || counter > Number.MAX_SAFE_INTEGER) {
    reader.fail(`counter ${counter} is not from 1 to 2^53 - 1`);
  }
  return counter;
}

function wordAt(bytes: Uint8Array, at: number): number {
  const high = ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
  return high * 65_536 + (((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0));
}
