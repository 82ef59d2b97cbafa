// Reads one operation after the other from a syncline.mesh.v1.Operations message, and checks all that can be
// checked without knowing the state. It shows the operation that it read last.
import {
  type ActorId,
  DOT_BYTES,
  formatActor,
  SynclineError,
  VersionVector,
} from '@syncline/kernel';
import type { ByteList } from '../byte-list.js';
import { setsLimits } from '../limits.js';
import { actorAt, ChangeReader, counterAt } from './change-reader.js';
import type { DotList } from './dot-list.js';
import type { Operation } from './operation.js';
import { tags } from './tags.js';
import type { WireCursor } from './wire-cursor.js';

const independent = new VersionVector();

export class OperationReader implements Operation {
  actor = 0 as ActorId;
  base = 0;
  count = 0;
  start = 0;
  end = 0;
  dependencies = independent;
  readonly #cursor: WireCursor;
  readonly #change: ChangeReader;

  constructor(cursor: WireCursor) {
    this.#cursor = cursor;
    this.#change = new ChangeReader(cursor);
  }

  get sets(): ByteList {
    return this.#change.sets;
  }

  get members(): ByteList {
    return this.#change.members;
  }

  get dropped(): DotList {
    return this.#change.dropped;
  }

  setOf(member: number): number {
    return this.#change.setOf(member);
  }

  counterOf(member: number): number {
    const ordinal = this.#change.ordinalOf(member);
    return ordinal < 0 ? 0 : this.base + ordinal;
  }

  /** Reads the operation at the cursor; false when there is none left. */
  next(): boolean {
    const cursor = this.#cursor;
    if (cursor.position >= cursor.bytes.length) return false;
    this.start = cursor.position;
    const tag = cursor.varint(cursor.bytes.length);
    if (tag !== tags.operation) cursor.fail(`field tag ${tag} is unknown in a list of operations`);
    const end = cursor.lengthEnd(cursor.bytes.length);
    const bytesMax = setsLimits.operationBytesMax.value;
    if (end - cursor.position > bytesMax) {
      cursor.fail(`it has ${end - cursor.position} bytes, at most ${bytesMax}`);
    }
    this.end = end;
    this.#readFields(end);
    this.#check();
    return true;
  }

  #readFields(end: number): void {
    const cursor = this.#cursor;
    this.base = 0;
    this.count = 0;
    this.dependencies = independent;
    let hasDependencies = false;
    let hasBody = false;
    while (cursor.position < end) {
      const tag = cursor.varint(end);
      if (tag === tags.count && this.count === 0) {
        this.count = cursor.varint(end);
        continue;
      }
      const fieldEnd = cursor.lengthEnd(end);
      if (tag === tags.dot && this.base === 0) {
        this.#readDot(fieldEnd);
      } else if (tag === tags.dependencies && !hasDependencies) {
        hasDependencies = true;
        this.#readDependencies(fieldEnd);
      } else if (tag === tags.body && !hasBody) {
        hasBody = true;
        this.#change.read(fieldEnd);
      } else {
        cursor.fail(`field tag ${tag} is unknown in an operation, or comes twice`);
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
      cursor.fail(`its dependencies are wrong (${SynclineError.from(error).message})`, error);
    }
  }

  #check(): void {
    const cursor = this.#cursor;
    const counters = Math.max(1, this.#change.addedCount);
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
