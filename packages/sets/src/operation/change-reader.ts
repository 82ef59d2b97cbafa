// Reads a syncline.sets.v1.Change, the body of an operation, into lists of offsets that are used again for
// the next one.
import { DOT_BYTES } from '@syncline/kernel';
import { ByteList } from '../byte-list.js';
import { setsLimits } from '../limits.js';
import { DotList } from './dot-list.js';
import { repeatedElement } from './repeated-element.js';
import { tags } from './tags.js';
import type { WireCursor } from './wire-cursor.js';

const wordEnd = 2 ** 32;
const ordinalsAtFirst = 16;
const removed = -1;

export class ChangeReader {
  readonly sets: ByteList;
  readonly members: ByteList;
  readonly dropped = new DotList();
  /** Members that it adds. */
  addedCount = 0;
  readonly #cursor: WireCursor;
  #setIndexes = new Int32Array(ordinalsAtFirst);
  #ordinals = new Int32Array(ordinalsAtFirst);

  constructor(cursor: WireCursor) {
    this.#cursor = cursor;
    this.sets = new ByteList(cursor.bytes);
    this.members = new ByteList(cursor.bytes);
  }

  setOf(member: number): number {
    return this.#setIndexes[member] ?? 0;
  }

  /** How many members were added before this one; -1 when it is removed. */
  ordinalOf(member: number): number {
    return this.#ordinals[member] ?? removed;
  }

  /** From the position of the cursor up to `end`. */
  read(end: number): void {
    this.sets.length = 0;
    this.members.length = 0;
    this.addedCount = 0;
    this.dropped.clear();
    const cursor = this.#cursor;
    let hasDropped = false;
    while (cursor.position < end) {
      const tag = cursor.varint(end);
      if (tag === tags.sets) {
        this.#readSet(cursor.lengthEnd(end));
      } else if (tag === tags.dropped && !hasDropped) {
        hasDropped = true;
        this.#readDropped(cursor.lengthEnd(end));
      } else {
        cursor.fail(`field tag ${tag} is unknown in a change, or comes twice`);
      }
    }
    this.#check();
  }

  #check(): void {
    const removedCount = this.members.length - this.addedCount;
    if (this.members.length === 0) this.#cursor.fail('it changes nothing');
    if (this.dropped.length < removedCount) {
      this.#cursor.fail(`${removedCount} members are removed with ${this.dropped.length} dots`);
    }
    const repeated = repeatedElement(this);
    if (repeated >= 0) this.#cursor.fail(`element ${repeated} comes twice`);
  }

  #readSet(end: number): void {
    const cursor = this.#cursor;
    const membersBefore = this.members.length;
    let nameStart = 0; // none: no field begins at the first byte of all
    let nameEnd = 0;
    while (cursor.position < end) {
      const tag = cursor.varint(end);
      if (tag !== tags.add && tag !== tags.remove && (tag !== tags.set || nameStart > 0)) {
        cursor.fail(`field tag ${tag} is unknown in a set, or comes twice`);
      }
      const fieldEnd = cursor.lengthEnd(end);
      if (tag === tags.set) {
        nameStart = cursor.position;
        nameEnd = fieldEnd;
      } else {
        this.#pushMember(tag === tags.add, cursor.position, fieldEnd);
      }
      cursor.position = fieldEnd;
    }
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
    if (index === this.#ordinals.length) this.#grow();
    this.#setIndexes[index] = this.sets.length; // the set is pushed when all of it is read
    this.#ordinals[index] = isAdded ? this.addedCount : removed;
    if (isAdded) this.addedCount += 1;
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
    if (!this.dropped.isSorted()) cursor.fail('dropped dots are not sorted, or one comes twice');
  }

  #grow(): void {
    const setIndexes = new Int32Array(this.#setIndexes.length * 2);
    const ordinals = new Int32Array(this.#ordinals.length * 2);
    setIndexes.set(this.#setIndexes);
    ordinals.set(this.#ordinals);
    this.#setIndexes = setIndexes;
    this.#ordinals = ordinals;
  }
}

/** Of the dot that begins at the cursor. */
export function actorAt(cursor: WireCursor): number {
  const actor = cursor.view.getUint32(cursor.position);
  if (actor >>> 16 === 0) cursor.fail('a dot is of node 0, which no node has');
  return actor;
}

/** Of the dot that begins at the cursor. */
export function counterAt(cursor: WireCursor): number {
  const high = cursor.view.getUint32(cursor.position + 4);
  const counter = high * wordEnd + cursor.view.getUint32(cursor.position + 8);
  if (counter < 1 || counter > Number.MAX_SAFE_INTEGER) {
    cursor.fail(`counter ${counter} is not from 1 to 2^53 - 1`);
  }
  return counter;
}
