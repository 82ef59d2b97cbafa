// The operation that is being made: what its commands change, down to the net effect per element.
//
// An element that is added gets one dot, however often it is named; one that is added and removed again is
// as if it had not been named. Dots follow the order in which elements were first touched. While nothing
// is removed that order is the order of adding, and the dots written at once are the final ones;
// otherwise they are numbered anew at the end. It is encoded once, at the end, for the journal and peers.
//
// S3  The n-th element added has the counter base + n; a counter names one element.
import { assert, kernelLimits } from '@syncline/kernel';
import { setsLimits } from '../limits.js';
import type { ElementHeap } from '../memory/element-heap.js';
import {
  memberBuffer,
  memberEnd,
  memberStart,
  ROW_ACTOR,
  ROW_COUNTER_HIGH,
  ROW_COUNTER_LOW,
  ROW_MEMBER_BYTES,
} from '../memory/row-layout.js';
import type { OperationWriter } from '../operation/operation-writer.js';
import type { AppliedVersion } from './applied-version.js';
import type { ElementChanges } from './element-changes.js';
import type { LiveDigest } from './live-digest.js';
import type { MemorySet } from './memory-set.js';
import { type DotWords, NO_DOT, SEVERAL_DOTS, type SeveralDots } from './row-dots.js';
import type { SetRegistry } from './set-registry.js';

/** Tags and lengths of a member, of a set and of its name. */
const ELEMENT_BYTES = 16;
const DOT_BYTES = 12;
/** Dependencies and the dots of one element: at most one per entry of a version vector, each. */
const RESERVED_BYTES = 2 * kernelLimits.versionVectorEntriesMax.value * DOT_BYTES + 64;
const BYTES_MAX = setsLimits.operationBytesMax.value - RESERVED_BYTES;
const ELEMENTS_MAX = setsLimits.operationElementsMax.value;

export interface RunningOperationDeps {
  readonly heap: ElementHeap;
  readonly registry: SetRegistry;
  readonly several: SeveralDots;
  readonly version: AppliedVersion;
  readonly digest: LiveDigest;
  readonly changes: ElementChanges;
  readonly writer: OperationWriter;
}

export class RunningOperation {
  readonly #deps: RunningOperationDeps;
  readonly #words: DotWords = { actor: 0, high: 0, low: 0 };
  #depth = 0;
  #base = 0;
  #added = 0;
  /** Adding and first touching went in different orders. */
  #isOutOfOrder = false;
  #lastSlot = 0;
  #bytes = 0;

  constructor(deps: RunningOperationDeps) {
    this.#deps = deps;
  }

  get isRunning(): boolean {
    return this.#depth > 0;
  }

  begin(): void {
    this.#depth += 1;
    if (this.#depth > 1) return;
    this.#base = this.#deps.version.ownCounter + 1;
    this.#added = 0;
    this.#isOutOfOrder = false;
    this.#lastSlot = 0;
    this.#bytes = 0;
    this.#deps.changes.startOperation();
  }

  hasRoom(set: MemorySet, memberBytes: number): boolean {
    const { changes } = this.#deps;
    const elements = changes.commit.elements.length - changes.operationStart;
    const bytes = this.#bytes + set.name.length + memberBytes + ELEMENT_BYTES + DOT_BYTES;
    return elements < ELEMENTS_MAX && bytes <= BYTES_MAX;
  }

  /** True when it was absent. */
  add(set: MemorySet, row: number): boolean {
    const page = this.#deps.heap.words[row >>> 16] as Int32Array;
    const start = row & 0xffff;
    const isTouched = this.#touch(set, row, page, start);
    const before = page[start + ROW_ACTOR] as number;
    if (isTouched) {
      if (before !== NO_DOT) return false; // it was added in this operation
      this.#isOutOfOrder = true;
    }
    const counter = this.#base + this.#added;
    this.#added += 1;
    const words = this.#words;
    words.actor = this.#deps.version.own | 0;
    words.high = Math.floor(counter / 2 ** 32);
    words.low = counter | 0;
    this.#deps.changes.write(set, row, words);
    return before === NO_DOT;
  }

  /** True when it was present. */
  remove(set: MemorySet, row: number): boolean {
    const page = this.#deps.heap.words[row >>> 16] as Int32Array;
    const start = row & 0xffff;
    if (page[start + ROW_ACTOR] === NO_DOT) return false;
    if (this.#touch(set, row, page, start)) this.#isOutOfOrder = true;
    const words = this.#words;
    words.actor = NO_DOT;
    words.high = 0;
    words.low = 0;
    this.#deps.changes.write(set, row, words);
    return true;
  }

  /** Elements changed. Nothing changed: no operation, and no counter is taken. */
  end(): number {
    assert(this.#depth > 0, 'an operation is running');
    this.#depth -= 1;
    if (this.#depth > 0) return 0;
    const { changes, writer, version } = this.#deps;
    const { elements } = changes.commit;
    const elementsEnd = elements.length;
    if (elementsEnd === changes.operationStart) return 0;
    if (this.#isOutOfOrder) this.#number();
    writer.begin(version.own, this.#base);
    this.#lastSlot = 0;
    for (let place = changes.operationStart; place < elementsEnd; place += 1) this.#encode(place);
    const changed = writer.elements;
    if (changed === 0) {
      writer.cancel();
      changes.abandonOperation();
      return 0;
    }
    this.#close();
    return changed;
  }

  /** Takes back everything since the outermost `begin`. */
  abandon(): void {
    assert(this.#depth > 0, 'an operation is running');
    this.#depth = 0;
    this.#deps.changes.abandonOperation();
  }

  #close(): void {
    const { changes, writer, version } = this.#deps;
    const { commit } = changes;
    const before = version.ownCounter;
    const dependencies = version.takeDependencies();
    const count = writer.end(dependencies?.toBytes());
    if (dependencies !== undefined) commit.dependencies.push(dependencies);
    const last = commit.versions.at(-1);
    if (last?.actor !== version.own) commit.versions.push({ actor: version.own, counter: before });
    version.advanceOwn(count);
    assert(
      version.ownCounter === before + Math.max(1, this.#added),
      'S3: one counter per element added',
    );
  }

  #touch(set: MemorySet, row: number, page: Int32Array, start: number): boolean {
    if (this.#deps.changes.touch(set, row, page, start)) return true;
    const actor = page[start + ROW_ACTOR] as number;
    const dots = actor === SEVERAL_DOTS ? this.#dotsOf(page, start) : 1;
    const name = set.slot === this.#lastSlot ? 0 : set.name.length;
    this.#bytes +=
      ELEMENT_BYTES + name + (page[start + ROW_MEMBER_BYTES] as number) + dots * DOT_BYTES;
    this.#lastSlot = set.slot;
    return false;
  }

  #dotsOf(page: Int32Array, start: number): number {
    const low = page[start + ROW_COUNTER_LOW] as number;
    return this.#deps.several.read({ actor: SEVERAL_DOTS, high: 0, low }).length;
  }

  /** Gives the elements added their dots anew, in the order in which they were first touched. */
  #number(): void {
    const { changes, heap } = this.#deps;
    const { elements } = changes.commit;
    this.#added = 0;
    for (let place = changes.operationStart; place < elements.length; place += 1) {
      const row = elements.row(place);
      const page = heap.words[row >>> 16] as Int32Array;
      const start = row & 0xffff;
      if (page[start + ROW_ACTOR] === NO_DOT) continue;
      const counter = this.#base + this.#added;
      page[start + ROW_COUNTER_HIGH] = Math.floor(counter / 2 ** 32);
      page[start + ROW_COUNTER_LOW] = counter | 0;
      this.#added += 1;
    }
  }

  /** Writes one element of the operation, if it has changed, and brings the digest up to it. */
  #encode(place: number): void {
    const { changes, heap, writer, digest } = this.#deps;
    const { elements } = changes.commit;
    const row = elements.row(place);
    const page = heap.words[row >>> 16] as Int32Array;
    const start = row & 0xffff;
    const isPresent = page[start + ROW_ACTOR] !== NO_DOT;
    const before = elements.actor(place);
    if (!isPresent && before === NO_DOT) return;
    const slot = elements.slot(place);
    if (slot !== this.#lastSlot) {
      const { name } = this.#deps.registry.at(slot);
      writer.set(name, 0, name.length);
      this.#lastSlot = slot;
    }
    const bytes = memberBuffer(heap, row);
    if (isPresent) {
      writer.add(bytes, memberStart(row), memberEnd(heap, row));
      digest.add(
        page[start + ROW_ACTOR] as number,
        page[start + ROW_COUNTER_HIGH] as number,
        page[start + ROW_COUNTER_LOW] as number,
      );
    } else {
      writer.remove(bytes, memberStart(row), memberEnd(heap, row));
    }
    if (before !== NO_DOT) this.#dropBefore(place);
  }

  #dropBefore(place: number): void {
    const { changes, writer, digest, several } = this.#deps;
    const { elements } = changes.commit;
    const [actor, high, low] = [elements.actor(place), elements.high(place), elements.low(place)];
    if (actor !== SEVERAL_DOTS) {
      writer.dropped(actor, high, low);
      digest.drop(actor, high, low);
      return;
    }
    for (const dot of several.read({ actor, high, low })) {
      const counterHigh = Math.floor(dot.counter / 2 ** 32);
      writer.dropped(dot.actor, counterHigh, dot.counter | 0);
      digest.drop(dot.actor, counterHigh, dot.counter | 0);
    }
  }
}
