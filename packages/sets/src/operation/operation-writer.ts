// Builds a record of the log: the operations of one turn, each encoded once, for the disk and for peers.
//
// A record is a whole syncline.mesh.v1.Operations message, since messages of one repeated field are joined by
// concatenating them. Almost every operation changes one member of one set, and then all its lengths take one byte:
// members are written to their final place, after space for such a header. Where a length turns out to need more, the
// bytes after it are moved. Lengths are minimal, as Protobuf writes them.
//
// S3  Each added member has its own dot: the n-th call of `add`, from 0, takes the counter base + n.
import { type ActorId, assert, DOT_BYTES } from '@syncline/kernel';
import { varintBytes, writeVarint } from '@syncline/kernel/wire';
import { copyBytes, doubled } from '../byte-list.js';
import { setsLimits } from '../limits.js';
import { DotList, writeDotBytes } from './dot-list.js';
import { tags } from './operation-tags.js';

const capacityAtFirst = 64 * 1024;
const capacityKept = 4 * 1024 * 1024; // after a larger record its memory is released
const wordEnd = 2 ** 32;
const headBytes = 20; // of an operation: tag, length, dot with both, count with tag, tag and length of the body
const setHeadBytes = 2; // of a set: tag, length
const shortEnd = 0x80; // anything shorter has a length of one byte
const lengthBytesMax = 4;
const operationBytesMax = setsLimits.operationBytesMax.value;
const none = new Uint8Array(0);

/** The range of an operation, including its tag and length. */
export interface EncodedOperation {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
}

export class OperationWriter {
  readonly #dropped = new DotList();
  #bytes = new Uint8Array(capacityAtFirst);
  /** Bytes of the operations in the record. */
  size = 0;
  #recordAdds = 0;
  /** The ranges of operations of peers in the record: start and end of each. */
  #foreign: number[] = [];

  // The open operation. It is stored after `size` and is not part of the record before `end`.
  #isOpen = false;
  #actor = 0;
  #base = 0;
  #position = 0;
  #addedCount = 0;
  #removedCount = 0;
  #setsCount = 0;
  #setStarts = new Int32Array(4); // where the content of each set begins, after its tag and length
  #nameStart = 0;
  #nameEnd = 0;

  get elements(): number {
    return this.#addedCount + this.#removedCount;
  }

  begin(actor: ActorId, base: number): void {
    assert(!this.#isOpen, 'one operation is open at a time');
    this.#isOpen = true;
    this.#actor = actor;
    this.#base = base;
    this.#position = this.size + headBytes;
    this.#addedCount = 0;
    this.#removedCount = 0;
    this.#setsCount = 0;
    this.#dropped.clear();
  }

  /** The set that the following calls refer to. Sets may come in any order and repeatedly. */
  set(buffer: Uint8Array, start: number, end: number): void {
    assert(this.#isOpen, 'an operation is open');
    if (this.#setsCount > 0 && this.#isNamed(buffer, start, end)) return;
    this.#reserve(setHeadBytes + 1 + lengthBytesMax + end - start);
    this.#position += setHeadBytes;
    if (this.#setsCount === this.#setStarts.length) this.#setStarts = doubled(this.#setStarts);
    this.#setStarts[this.#setsCount] = this.#position;
    this.#setsCount += 1;
    if (end > start) this.#field(tags.set, buffer, start, end); // Protobuf leaves out what is empty
    this.#nameStart = this.#position - (end - start);
    this.#nameEnd = this.#position;
  }

  /** A member that is in the set from now on, under the next counter. */
  add(buffer: Uint8Array, start: number, end: number): void {
    this.#addedCount += 1;
    this.#member(tags.add, buffer, start, end);
  }

  /** A member that is no longer in the set. Its dots are to be dropped. */
  remove(buffer: Uint8Array, start: number, end: number): void {
    this.#removedCount += 1;
    this.#member(tags.remove, buffer, start, end);
  }

  /** A dot that an element of the operation had. Words may be signed, as rows hold them. */
  dropped(actor: number, counterHigh: number, counterLow: number): void {
    this.#dropped.push(actor >>> 0, (counterHigh >>> 0) * wordEnd + (counterLow >>> 0));
  }

  /**
   * Closes the operation and makes it part of the record; returns how many counters it uses. `dependencies` are the
   * bytes of a version vector.
   */
  end(dependencies: Uint8Array = none): number {
    assert(this.#isOpen && this.elements > 0, 'an operation changes something');
    assert(this.#dropped.length >= this.#removedCount, 'who is removed had a dot');
    const count = Math.max(1, this.#addedCount);
    const droppedBytes = this.#dropped.length * DOT_BYTES;
    const shortBytes = this.#position - this.size + fieldBytes(droppedBytes);
    if (this.#setsCount === 1 && dependencies.length === 0 && shortBytes < shortEnd) {
      this.#endShort(count, droppedBytes);
    } else {
      this.#endLong(count, droppedBytes, dependencies);
    }
    this.#isOpen = false;
    this.#recordAdds += this.#addedCount;
    return count;
  }

  cancel(): void {
    this.#isOpen = false;
  }

  /** Adds an operation that a peer has made, with its tag and length, as it was received. */
  addForeign({ bytes, start, end }: EncodedOperation, addsMembers: boolean): void {
    assert(!this.#isOpen, 'no operation is open');
    this.#position = this.size;
    this.#reserve(end - start);
    copyBytes(bytes, start, end, this.#bytes, this.size);
    this.#foreign.push(this.size, this.size + end - start);
    this.size += end - start;
    if (addsMembers) this.#recordAdds += 1;
  }

  get hasForeign(): boolean {
    return this.#foreign.length > 0;
  }

  /** A copy of the operations that were made here. */
  ownBytes(): Uint8Array {
    assert(!this.#isOpen, 'no operation is open');
    const own: Uint8Array[] = [];
    let from = 0;
    for (let index = 0; index < this.#foreign.length; index += 2) {
      own.push(this.#bytes.subarray(from, this.#foreign[index]));
      from = this.#foreign[index + 1] ?? 0;
    }
    own.push(this.#bytes.subarray(from, this.size));
    return Buffer.concat(own);
  }

  get hasAdds(): boolean {
    return this.#recordAdds > 0;
  }

  /** A view of the record, valid until the next change. */
  bytes(): Uint8Array {
    assert(!this.#isOpen, 'no operation is open');
    return this.#bytes.subarray(0, this.size);
  }

  clear(): void {
    this.size = 0;
    this.#isOpen = false;
    this.#recordAdds = 0;
    if (this.#foreign.length > 0) this.#foreign = [];
    if (this.#bytes.length > capacityKept) this.#bytes = new Uint8Array(capacityAtFirst);
  }

  #member(tag: number, buffer: Uint8Array, start: number, end: number): void {
    assert(this.#setsCount > 0, 'a member belongs to a set');
    this.#reserve(1 + lengthBytesMax + end - start);
    this.#field(tag, buffer, start, end);
  }

  #field(tag: number, buffer: Uint8Array, start: number, end: number): void {
    this.#bytes[this.#position] = tag;
    const at = writeVarint(this.#bytes, this.#position + 1, end - start);
    copyBytes(buffer, start, end, this.#bytes, at);
    this.#position = at + end - start;
  }

  #isNamed(buffer: Uint8Array, start: number, end: number): boolean {
    if (this.#nameEnd - this.#nameStart !== end - start) return false;
    for (let index = 0; index < end - start; index += 1) {
      if (this.#bytes[this.#nameStart + index] !== buffer[start + index]) return false;
    }
    return true;
  }

  /** All of it is so short that everything is in its place, and only the headers are missing. */
  #endShort(count: number, droppedBytes: number): void {
    this.#reserve(fieldBytes(droppedBytes));
    const bytes = this.#bytes;
    const start = this.size;
    const bodyStart = start + headBytes;
    bytes[bodyStart] = tags.sets;
    bytes[bodyStart + 1] = this.#position - bodyStart - setHeadBytes;
    this.#writeDropped(this.#position, droppedBytes);
    const end = this.#position + fieldBytes(droppedBytes);
    bytes[start] = tags.operation;
    bytes[start + 1] = end - start - 2;
    bytes[start + 2] = tags.dot;
    bytes[start + 3] = DOT_BYTES;
    writeDotBytes(bytes, start + 4, this.#actor, this.#base);
    bytes[bodyStart - 4] = tags.count;
    bytes[bodyStart - 3] = count;
    bytes[bodyStart - 2] = tags.body;
    bytes[bodyStart - 1] = end - bodyStart;
    this.size = end;
  }

  #endLong(count: number, droppedBytes: number, dependencies: Uint8Array): void {
    const widening = this.#setsWidening();
    const setsBytes = this.#position - this.size - headBytes + widening;
    const bodyBytes = setsBytes + fieldBytes(droppedBytes);
    const dotBytes = 2 + DOT_BYTES;
    const countBytes = 1 + varintBytes(count);
    const operationBytes =
      dotBytes + countBytes + fieldBytes(dependencies.length) + fieldBytes(bodyBytes);
    assert(operationBytes <= operationBytesMax, 'an operation keeps its limit');
    const end = this.size + fieldBytes(operationBytes);
    this.#reserve(end - this.#position);
    const bodyStart = end - bodyBytes;
    this.#placeSets(bodyStart - this.size - headBytes + widening);
    this.#writeDropped(bodyStart + setsBytes, droppedBytes);
    this.#writeHead(operationBytes, count, dependencies, bodyBytes);
    this.size = end;
  }

  /** How many bytes the lengths of all sets take beyond the one byte reserved for each. */
  #setsWidening(): number {
    let widening = 0;
    let end = this.#position;
    for (let index = this.#setsCount - 1; index >= 0; index -= 1) {
      const start = this.#setStarts[index] ?? 0;
      widening += varintBytes(end - start) - 1;
      end = start - setHeadBytes;
    }
    return widening;
  }

  /** Moves the sets to the right, the last one by `distance`, and writes their lengths. */
  #placeSets(distance: number): void {
    let shift = distance;
    let end = this.#position;
    for (let index = this.#setsCount - 1; index >= 0; index -= 1) {
      const start = this.#setStarts[index] ?? 0;
      if (shift > 0) this.#bytes.copyWithin(start + shift, start, end);
      const lengthBytes = varintBytes(end - start);
      const lengthAt = start + shift - lengthBytes;
      writeVarint(this.#bytes, lengthAt, end - start);
      this.#bytes[lengthAt - 1] = tags.sets;
      shift -= lengthBytes - 1;
      end = start - setHeadBytes;
    }
  }

  #writeDropped(position: number, droppedBytes: number): void {
    if (droppedBytes === 0) return;
    this.#dropped.sort();
    this.#bytes[position] = tags.dropped;
    this.#dropped.writeTo(this.#bytes, writeVarint(this.#bytes, position + 1, droppedBytes));
  }

  #writeHead(
    operationBytes: number,
    count: number,
    dependencies: Uint8Array,
    bodyBytes: number,
  ): void {
    const bytes = this.#bytes;
    bytes[this.size] = tags.operation;
    let at = writeVarint(bytes, this.size + 1, operationBytes);
    bytes[at] = tags.dot;
    bytes[at + 1] = DOT_BYTES;
    writeDotBytes(bytes, at + 2, this.#actor, this.#base);
    bytes[at + 2 + DOT_BYTES] = tags.count;
    at = writeVarint(bytes, at + 3 + DOT_BYTES, count);
    if (dependencies.length > 0) {
      bytes[at] = tags.dependencies;
      at = writeVarint(bytes, at + 1, dependencies.length);
      bytes.set(dependencies, at);
      at += dependencies.length;
    }
    bytes[at] = tags.body;
    writeVarint(bytes, at + 1, bodyBytes);
  }

  #reserve(bytesCount: number): void {
    const needed = this.#position + bytesCount;
    if (needed <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    larger.set(this.#bytes.subarray(0, this.#position));
    this.#bytes = larger;
  }
}

/** The size of a field with this many bytes, including tag and length; 0 for an empty field. */
function fieldBytes(length: number): number {
  return length === 0 ? 0 : 1 + varintBytes(length) + length;
}
