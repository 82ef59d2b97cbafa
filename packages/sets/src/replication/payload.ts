// Elements with their dots, as an AntiEntropyPayload of syncline.mesh.v1: what a pull transfers, and what a repair
// stores. Written part by part, a frame at a time; read without an object per element.
import { type ActorId, DOT_BYTES, type Dot } from '@syncline/kernel';
import { type WireFailure, WireReader, writeVarint } from '@syncline/kernel/wire';
import { ByteList } from '../byte-list.js';
import { setsLimits } from '../limits.js';
import { writeDotBytes } from '../operation/dot-list.js';
import { actorAt, counterAt } from '../operation/operation-tags.js';

const tags = { session: 0x08, dots: 0x12, sets: 0x1a, setIndex: 0x22, members: 0x2a, last: 0x30 };
const HEAD_BYTES_MAX = 64;

/** A buffer that grows. */
class Gathered {
  bytes = new Uint8Array(1_024);
  length = 0;

  /** Makes room after the current content. */
  reserve(count: number): void {
    if (this.length + count <= this.bytes.length) return;
    const larger = new Uint8Array(Math.max(this.length + count, this.bytes.length * 2));
    larger.set(this.bytes.subarray(0, this.length));
    this.bytes = larger;
  }

  field(tag: number, bytes: Uint8Array): void {
    this.reserve(6 + bytes.length);
    this.bytes[this.length] = tag;
    const at = writeVarint(this.bytes, this.length + 1, bytes.length);
    this.bytes.set(bytes, at);
    this.length = at + bytes.length;
  }

  taken(): Uint8Array {
    return this.bytes.subarray(0, this.length);
  }
}

export class PayloadWriter {
  readonly #dots = new Gathered();
  readonly #sets = new Gathered();
  readonly #indexes = new Gathered();
  readonly #members = new Gathered();
  #lastSet: Uint8Array | undefined;
  #setsCount = 0;

  /** The encoded size of what was added. */
  get bytes(): number {
    return this.#dots.length + this.#sets.length + this.#indexes.length + this.#members.length;
  }

  /** Members of one set must come with the same name object. */
  add(set: Uint8Array, member: Uint8Array, dot: Dot): void {
    if (this.#lastSet !== set) {
      this.#sets.field(tags.sets, set);
      this.#lastSet = set;
      this.#setsCount += 1;
    }
    this.#dots.reserve(DOT_BYTES);
    writeDotBytes(this.#dots.bytes, this.#dots.length, dot.actor, dot.counter);
    this.#dots.length += DOT_BYTES;
    this.#indexes.reserve(5);
    this.#indexes.length = writeVarint(
      this.#indexes.bytes,
      this.#indexes.length,
      this.#setsCount - 1,
    );
    this.#members.field(tags.members, member);
  }

  /** Returns the message, in its own memory, and starts the next one. */
  take(session: number, isLast: boolean): Uint8Array {
    const out = new Uint8Array(this.bytes + HEAD_BYTES_MAX);
    let at = 0;
    const number = (tag: number, value: number) => {
      if (value === 0) return;
      out[at] = tag;
      at = writeVarint(out, at + 1, value);
    };
    const block = (tag: number, bytes: Uint8Array) => {
      if (bytes.length === 0) return;
      number(tag, bytes.length);
      out.set(bytes, at);
      at += bytes.length;
    };
    const copy = (bytes: Uint8Array) => {
      out.set(bytes, at);
      at += bytes.length;
    };
    number(tags.session, session);
    block(tags.dots, this.#dots.taken());
    copy(this.#sets.taken());
    block(tags.setIndex, this.#indexes.taken());
    copy(this.#members.taken());
    number(tags.last, isLast ? 1 : 0);
    for (const part of [this.#dots, this.#sets, this.#indexes, this.#members]) part.length = 0;
    this.#lastSet = undefined;
    this.#setsCount = 0;
    return out.subarray(0, at);
  }
}

/** One payload, fully checked. Its lists are views of the bytes that it was read from. */
export class Payload {
  readonly session: number;
  readonly isLast: boolean;
  readonly sets: ByteList;
  readonly members: ByteList;
  readonly #view: DataView;
  readonly #dotsAt: number;
  readonly #setIndexes: Uint32Array;

  constructor(bytes: Uint8Array, failure: WireFailure) {
    const cursor = new WireReader('payload', bytes, failure);
    this.#view = cursor.view;
    this.sets = new ByteList(bytes);
    this.members = new ByteList(bytes);
    let session = 0;
    let last = 0;
    let dots: readonly [start: number, end: number] = [0, 0];
    let indexes: readonly [start: number, end: number] = [0, 0];
    while (!cursor.isAtEnd) {
      const tag = cursor.uint32();
      if (tag === tags.session || tag === tags.last) {
        const value = cursor.uint32();
        if (tag === tags.session) session = value;
        else last = value;
        continue;
      }
      const end = cursor.delimitedEnd();
      const start = cursor.position;
      if (tag === tags.dots && dots[1] === 0) dots = [start, end];
      else if (tag === tags.setIndex && indexes[1] === 0) indexes = [start, end];
      else if (tag === tags.sets) pushItem(cursor, this.sets, end, setsLimits.keyBytesMax.value);
      else if (tag === tags.members)
        pushItem(cursor, this.members, end, setsLimits.memberBytesMax.value);
      else cursor.fail(`field tag ${tag} is unknown, or appears twice`);
      cursor.position = end;
    }
    this.session = session;
    this.isLast = last === 1;
    const count = this.members.length;
    this.#dotsAt = dots[0];
    if (dots[1] - dots[0] !== count * DOT_BYTES) cursor.fail(`${count} members need a dot each`);
    for (cursor.position = dots[0]; cursor.position < dots[1]; cursor.position += DOT_BYTES) {
      actorAt(cursor);
      counterAt(cursor);
    }
    this.#setIndexes = new Uint32Array(count);
    cursor.position = indexes[0];
    cursor.end = indexes[1];
    for (let index = 0; index < count; index += 1) {
      const setIndex = cursor.uint32();
      if (setIndex >= this.sets.length) cursor.fail(`set ${setIndex} is not listed`);
      this.#setIndexes[index] = setIndex;
    }
    if (!cursor.isAtEnd) cursor.fail('there are more sets than members');
  }

  get length(): number {
    return this.members.length;
  }

  setOf(index: number): number {
    return this.#setIndexes[index] ?? 0;
  }

  actorOf(index: number): ActorId {
    return this.#view.getUint32(this.#dotsAt + index * DOT_BYTES) as ActorId;
  }

  counterOf(index: number): number {
    const at = this.#dotsAt + index * DOT_BYTES;
    return this.#view.getUint32(at + 4) * 2 ** 32 + this.#view.getUint32(at + 8);
  }
}

function pushItem(cursor: WireReader, list: ByteList, end: number, bytesMax: number): void {
  const bytes = end - cursor.position;
  if (bytes > bytesMax) cursor.fail(`a name or member has ${bytes} bytes, at most ${bytesMax}`);
  list.push(cursor.position, end);
}

/** The session of a payload that has not been checked yet: its first field. */
export function payloadSession(bytes: Uint8Array): number {
  const cursor = new WireReader('payload', bytes);
  if (cursor.uint32() !== tags.session) cursor.fail('it does not start with a session');
  return cursor.uint32();
}
