// What the mesh reads of an operation: who made it, its counters and its causes. The body stays bytes.
//
// An operation is only decoded as far as delivery needs it, so that pushing it on costs little and a new kind of
// body needs no change here.
import { type ActorId, actorId, DOT_BYTES, type Dot, kernelLimits } from '@syncline/kernel';
import { delimitedTag, varintTag, WireReader } from './wire.js';

export interface OperationHead {
  readonly actor: ActorId;
  /** The first of its counters. */
  readonly base: number;
  /** The last of them. */
  readonly last: number;
  /** Counters of other actors that must be applied before it. */
  readonly dependencies: readonly Dot[];
  /** With tag and length, a view of the message that it came in. */
  readonly encoded: Uint8Array;
}

const operationTag = delimitedTag(1);
const dotTag = delimitedTag(1);
const countTag = varintTag(2);
const dependenciesTag = delimitedTag(3);
const bodyTag = delimitedTag(4);
const wordEnd = 2 ** 32;
const none: readonly Dot[] = [];

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
  let first: Dot | undefined;
  let count = 0;
  let dependencies: readonly Dot[] | undefined;
  let hasBody = false;
  while (!reader.isAtEnd) {
    const tag = reader.varint();
    if (tag === dotTag && first === undefined) {
      first = readDots(reader, 1)[0];
    } else if (tag === countTag && count === 0) {
      count = reader.varint();
    } else if (tag === dependenciesTag && dependencies === undefined) {
      dependencies = readDots(reader, kernelLimits.versionVectorEntriesMax.value);
    } else if (tag === bodyTag && !hasBody) {
      hasBody = true;
      reader.position = reader.delimitedEnd();
    } else {
      reader.fail(`field tag ${tag} is unknown in an operation, or comes twice`);
    }
  }
  if (first === undefined) return reader.fail('an operation has no dot');
  const { actor, counter: base } = first;
  if (count === 0) reader.fail('an operation takes no counter');
  if (base > Number.MAX_SAFE_INTEGER - (count - 1)) {
    reader.fail(`${count} counters from ${base} on go beyond 2^53 - 1`);
  }
  if (dependencies?.some((cause) => cause.actor === actor)) {
    reader.fail('an operation depends on its own actor');
  }
  const encoded = message.subarray(start, end);
  return { actor, base, last: base + count - 1, dependencies: dependencies ?? none, encoded };
}

/** A field of dots, sorted and of different actors. Not by `VersionVector`, which would take twice the time. */
function readDots(reader: WireReader, entriesMax: number): readonly Dot[] {
  const end = reader.delimitedEnd();
  const length = end - reader.position;
  if (length % DOT_BYTES !== 0) reader.fail(`${length} bytes are not a multiple of ${DOT_BYTES}`);
  if (length > entriesMax * DOT_BYTES) reader.fail(`more than ${entriesMax} dots`);
  const dots: Dot[] = [];
  let previous = -1;
  for (; reader.position < end; reader.position += DOT_BYTES) {
    const word = wordAt(reader.bytes, reader.position);
    const high = wordAt(reader.bytes, reader.position + 4);
    const counter = high * wordEnd + wordAt(reader.bytes, reader.position + 8);
    if (word <= previous) reader.fail('actors are repeated or out of order');
    if (counter < 1 || counter > Number.MAX_SAFE_INTEGER) {
      reader.fail(`counter ${counter} is not from 1 to 2^53 - 1`);
    }
    previous = word;
    dots.push({ actor: actorId(word >>> 16, word & 0xffff), counter });
  }
  return dots;
}

function wordAt(bytes: Uint8Array, at: number): number {
  const high = ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
  return high * 65_536 + (((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0));
}
