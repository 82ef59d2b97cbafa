// Reads a record of the log, or what a peer has pushed: a syncline.mesh.v1.Operations message. Checks everything that
// can be checked without knowing the state.
//
// S3  Each added member has its own dot: counters from `base` on, in the order of the members.
import {
  type ActorId,
  DOT_BYTES,
  formatActor,
  SynclineError,
  VersionVector,
} from '@syncline/kernel';
import { type WireFailure, WireReader } from '@syncline/kernel/wire';
import { ByteList, doubled } from '../byte-list.js';
import { setsLimits } from '../limits.js';
import { DotList } from './dot-list.js';
import { actorAt, counterAt, tags } from './operation-tags.js';
import { repeatedElement } from './repeated-element.js';

const independent = new VersionVector();
const none = new Uint8Array(0);
const ordinalsAtFirst = 16;
const removed = -1;

/** Offsets into the bytes it was read from. Valid until the next one is decoded. */
export interface Operation {
  readonly actor: ActorId;
  /** Its range in the bytes that it was decoded from, including tag and length. */
  readonly start: number;
  readonly end: number;
  /** The first of its `count` counters. */
  readonly base: number;
  readonly count: number;
  /** Which operations of other actors its writer had applied since its last operation. */
  readonly dependencies: VersionVector;
  /** Names of sets. The same one may occur again. */
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

/**
 * One operation at a time, each fully checked before it is shown, and valid until the next one is requested. Errors
 * further on in the bytes are thrown only when they are reached.
 */
export function* decodeOperations(
  bytes: Uint8Array,
  failure: WireFailure = 'corrupt',
): Iterable<Operation> {
  const reader = new OperationReader(failure);
  reader.open(bytes);
  while (reader.next()) yield reader;
}

/** Shows the operation that was read last. Using one reader for many messages avoids allocating its lists for each. */
export class OperationReader implements Operation {
  actor = 0 as ActorId;
  base = 0;
  count = 0;
  start = 0;
  end = 0;
  dependencies = independent;
  readonly sets = new ByteList(none);
  readonly members = new ByteList(none);
  readonly dropped = new DotList();
  readonly #cursor: WireReader;
  #addedCount = 0;
  /** Per member: its set, and how many members were added before it, or `removed`. */
  #setIndexes = new Int32Array(ordinalsAtFirst);
  #ordinals = new Int32Array(ordinalsAtFirst);

  constructor(failure: WireFailure) {
    this.#cursor = new WireReader('operation', none, failure);
  }

  /** `next` reads from these bytes. */
  open(bytes: Uint8Array, start = 0): void {
    this.#cursor.reset(bytes, start);
  }

  setOf(member: number): number {
    return this.#setIndexes[member] ?? 0;
  }

  counterOf(member: number): number {
    const ordinal = this.#ordinals[member] ?? removed;
    return ordinal < 0 ? 0 : this.base + ordinal;
  }

  /** Reads the operation at the cursor; false when there is none left. */
  next(): boolean {
    const cursor = this.#cursor;
    if (cursor.isAtEnd) return false;
    this.start = cursor.position;
    const tag = cursor.uint32();
    if (tag !== tags.operation) cursor.fail(`field tag ${tag} is unknown in a list of operations`);
    const end = cursor.delimitedEnd();
    const bytesMax = setsLimits.operationBytesMax.value;
    if (end - cursor.position > bytesMax) {
      cursor.fail(`it has ${end - cursor.position} bytes, at most ${bytesMax}`);
    }
    this.end = end;
    cursor.end = end;
    this.#readFields();
    cursor.end = cursor.bytes.length;
    this.#check();
    return true;
  }

  #readFields(): void {
    const cursor = this.#cursor;
    this.base = 0;
    this.count = 0;
    this.dependencies = independent;
    let hasDependencies = false;
    let hasBody = false;
    while (!cursor.isAtEnd) {
      const tag = cursor.uint32();
      if (tag === tags.count && this.count === 0) {
        this.count = cursor.uint32();
        continue;
      }
      const fieldEnd = cursor.delimitedEnd();
      if (tag === tags.dot && this.base === 0) {
        this.#readDot(fieldEnd);
      } else if (tag === tags.dependencies && !hasDependencies) {
        hasDependencies = true;
        this.#readDependencies(fieldEnd);
      } else if (tag === tags.body && !hasBody) {
        hasBody = true;
        this.#readChange(fieldEnd);
      } else {
        cursor.fail(`field tag ${tag} is unknown in an operation, or appears twice`);
      }
      cursor.position = fieldEnd;
    }
    if (this.base === 0) cursor.fail('it has no dot');
    if (!hasBody) cursor.fail('it has no body');
  }

  #readDot(end: number): void {
    const cursor = this.#cursor;
    if (end - cursor.position !== DOT_BYTES) {
      cursor.fail(`its dot has ${end - cursor.position} bytes, not ${DOT_BYTES}`);
    }
    this.actor = actorAt(cursor) as ActorId;
    this.base = counterAt(cursor);
  }

  #readDependencies(end: number): void {
    const cursor = this.#cursor;
    if (end === cursor.position) return;
    try {
      this.dependencies = VersionVector.fromBytes(cursor.bytes.subarray(cursor.position, end));
    } catch (error) {
      cursor.fail(
        `its dependencies are wrong (${SynclineError.from(error).message})`,
        'dependencies',
        error,
      );
    }
  }

  /** A syncline.sets.v1.Change, from the position of the cursor up to `end`. */
  #readChange(end: number): void {
    const cursor = this.#cursor;
    const outerEnd = cursor.end;
    cursor.end = end;
    for (const list of [this.sets, this.members]) {
      list.buffer = cursor.bytes;
      list.view = cursor.view;
      list.reset(cursor.bytes);
    }
    this.#addedCount = 0;
    this.dropped.clear();
    let hasDropped = false;
    while (!cursor.isAtEnd) {
      const tag = cursor.uint32();
      if (tag === tags.sets) {
        this.#readSet(cursor.delimitedEnd());
      } else if (tag === tags.dropped && !hasDropped) {
        hasDropped = true;
        this.#readDropped(cursor.delimitedEnd());
      } else {
        cursor.fail(`field tag ${tag} is unknown in a change, or appears twice`);
      }
    }
    cursor.end = outerEnd;
    this.#checkChange();
  }

  #checkChange(): void {
    const removedCount = this.members.length - this.#addedCount;
    if (this.members.length === 0) this.#cursor.fail('it changes nothing');
    if (this.dropped.length < removedCount) {
      this.#cursor.fail(`${removedCount} members are removed with ${this.dropped.length} dots`);
    }
    const repeated = repeatedElement(this);
    if (repeated >= 0) this.#cursor.fail(`element ${repeated} appears twice`);
  }

  #readSet(end: number): void {
    const cursor = this.#cursor;
    const outerEnd = cursor.end;
    cursor.end = end;
    const membersBefore = this.members.length;
    let nameStart = 0; // none: no field begins at the first byte of all
    let nameEnd = 0;
    while (!cursor.isAtEnd) {
      const tag = cursor.uint32();
      if (tag !== tags.add && tag !== tags.remove && (tag !== tags.set || nameStart > 0)) {
        cursor.fail(`field tag ${tag} is unknown in a set, or appears twice`);
      }
      const fieldEnd = cursor.delimitedEnd();
      if (tag === tags.set) {
        nameStart = cursor.position;
        nameEnd = fieldEnd;
      } else {
        this.#pushMember(tag === tags.add, cursor.position, fieldEnd);
      }
      cursor.position = fieldEnd;
    }
    cursor.end = outerEnd;
    if (this.members.length === membersBefore) cursor.fail('a set comes without a changed member');
    const nameBytesMax = setsLimits.keyBytesMax.value;
    if (nameEnd - nameStart > nameBytesMax) {
      cursor.fail(`the name of a set has ${nameEnd - nameStart} bytes, at most ${nameBytesMax}`);
    }
    this.sets.push(nameStart, nameEnd);
  }

  #pushMember(isAdded: boolean, start: number, end: number): void {
    const index = this.members.length;
    const bytesMax = setsLimits.memberBytesMax.value;
    const elementsMax = setsLimits.operationElementsMax.value;
    if (end - start > bytesMax) {
      this.#cursor.fail(`a member has ${end - start} bytes, at most ${bytesMax}`);
    }
    if (index >= elementsMax) this.#cursor.fail(`it changes more than ${elementsMax} elements`);
    if (index === this.#ordinals.length) {
      this.#setIndexes = doubled(this.#setIndexes);
      this.#ordinals = doubled(this.#ordinals);
    }
    this.#setIndexes[index] = this.sets.length; // the set is pushed when all of it is read
    this.#ordinals[index] = isAdded ? this.#addedCount : removed;
    if (isAdded) this.#addedCount += 1;
    this.members.push(start, end);
  }

  #readDropped(end: number): void {
    const cursor = this.#cursor;
    if ((end - cursor.position) % DOT_BYTES !== 0) {
      cursor.fail(`${end - cursor.position} bytes of dots are not a multiple of ${DOT_BYTES}`);
    }
    for (; cursor.position < end; cursor.position += DOT_BYTES) {
      this.dropped.push(actorAt(cursor), counterAt(cursor));
    }
    if (!this.dropped.isSorted()) cursor.fail('dropped dots are not sorted, or one appears twice');
  }

  #check(): void {
    const cursor = this.#cursor;
    const counters = Math.max(1, this.#addedCount);
    if (this.count !== counters) {
      cursor.fail(`it takes ${this.count} counters where its members need ${counters}`);
    }
    if (this.base > Number.MAX_SAFE_INTEGER - (this.count - 1)) {
      cursor.fail(`its counters from ${this.base} on go beyond 2^53 - 1`);
    }
    if (this.dependencies.counterOf(this.actor) > 0) {
      cursor.fail(`it depends on its own actor ${formatActor(this.actor)}`);
    }
    for (let index = 0; index < this.dropped.length; index += 1) {
      const isOwn = this.dropped.actor(index) === this.actor;
      if (isOwn && this.dropped.counter(index) >= this.base) {
        cursor.fail(
          `it drops ${formatActor(this.actor)}:${this.dropped.counter(index)}, which is not before it`,
        );
      }
    }
  }
}
