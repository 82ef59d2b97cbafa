// The keys of a memory state, each in a numbered slot, with their values in parallel arrays.
//
// An object per key would cost a cache miss on each update, and twice the memory: with 100,000 random keys, updates are
// nearly twice as fast this way.
//
// A removed key keeps its slot, marked `GONE`, until a capture has recorded the removal and while a snapshot still
// sorts by it. Most removed keys come back, such as those of the next window.
import { fmix32 } from '@syncline/kernel';
import { streamsLimits } from '../limits.js';
import { groupOf, type Key } from '../state/key.js';

const SLOTS_FIRST = 1_024;
/** Changes are marked for this many slots together, so that finding them reads little memory, and all in order. */
export const CHANGED_SLOTS = 256;
const UNKNOWN_GROUP = -1;
const NO_SLOT = -1;
const NO_PLACE = -1;
/** Places in a new index. */
const PLACES_FIRST = 1_024;
/** How many places are searched for a key. With at most half of them in use, hardly any key needs that many. */
const STEPS_MAX = 64;
/** Added to the slots of texts in the index. A hash determines an integer, so only texts need to be compared. */
const TEXT = 2 ** 30;
/** Characters of a text; longer ones take long to hash. */
const HASHED_TEXT_MAX = 32;
const FNV_PRIME = 0x0100_0193;
/** With fewer keys, everything is in the CPU cache anyway. */
const WARM_KEYS_MIN = 4_096;

export const NOT_KEPT = 0xffff_ffff;

/** The value of a slot whose key was removed. */
export const GONE = Symbol('gone');

export class SlotTable<V, Ver> {
  /** By slot; undefined if the slot is free. */
  readonly keys: (Key | undefined)[] = [];
  /** Including slots of removed keys. */
  readonly slots = new SlotIndex(this.keys);
  readonly values: (V | typeof GONE | undefined)[] = [];
  /** Empty for states without versions. */
  readonly versions: Ver[] = [];
  /** By slot: the generation of the newest capture that no longer needs its content. */
  generations = new Uint32Array(SLOTS_FIRST);
  /** By slot, if it has changed since a running capture began: where the capture keeps its old content. */
  kept = new Uint32Array(SLOTS_FIRST);
  /** By slot: the key group, computed on demand. */
  #groups = new Int16Array(SLOTS_FIRST);
  /** By slot: whether the checkpoint store has the key. */
  #stored = new Uint8Array(SLOTS_FIRST);
  /** By group: how many keys the store has. */
  readonly #storedByGroup: number[] = [];
  /** By `CHANGED_SLOTS` slots: 1 if any of them has changed. */
  #changed = new Uint8Array(SLOTS_FIRST / CHANGED_SLOTS);
  readonly #free: number[] = [];
  #goneCount = 0;
  /** Keys that are about to be looked up, in this order, and their slots. */
  #nextKeys: readonly Key[] = [];
  readonly #nextSlots = new Int32Array(streamsLimits.batchItemsMax.value);
  /** The place of the last one that was looked up. */
  #nextAt = 0;
  /** Never read: `warm` stores its result here so that the compiler cannot optimize it away. */
  protected warmed = 0;

  /** Number of keys, not counting removed ones. */
  get count(): number {
    return this.slots.size - this.#goneCount;
  }

  /** The slot of a removed key, if it still has one. */
  goneSlot(key: Key): number | undefined {
    return this.#goneCount === 0 ? undefined : this.slotOf(key);
  }

  /** The slot of a key, even if it was removed. Keys that `warm` has looked up need not be looked up again. */
  slotOf(key: Key): number | undefined {
    const keys = this.#nextKeys;
    let at = this.#nextAt;
    if (keys[at] !== key) at += 1;
    const slot = at < keys.length && keys[at] === key ? (this.#nextSlots[at] as number) : NO_SLOT;
    if (slot === NO_SLOT) return this.slots.get(key);
    this.#nextAt = at;
    return slot;
  }

  /**
   * Looks up the keys of a batch and loads what they refer to into the CPU cache. The lookups are independent here, so
   * their cache misses overlap; during processing, each item would wait for its own. Saves a quarter of the time with
   * 100,000 keys.
   */
  warm(keys: readonly Key[]): void {
    const { slots, generations, values } = this;
    const isWarmed = slots.size >= WARM_KEYS_MIN && keys.length <= this.#nextSlots.length;
    this.#nextKeys = isWarmed ? keys : [];
    this.#nextAt = 0;
    if (!isWarmed) return;
    const { length } = keys;
    const nextSlots = this.#nextSlots;
    for (let at = 0; at < length; at += 1) nextSlots[at] = slots.get(keys[at] as Key) ?? NO_SLOT;
    // A second loop, so that more of its loads overlap: they need not wait for those of the lookups.
    let seen = 0;
    for (let at = 0; at < length; at += 1) {
      const slot = nextSlots[at] as number;
      if (slot === NO_SLOT) continue;
      seen += generations[slot] as number;
      if (typeof values[slot] === 'object') seen += 1;
    }
    this.warmed = seen;
  }

  /** Assigns a slot to a key that has none. */
  insert(
    key: Key,
    value: V | undefined,
    version: Ver,
    generation: number,
    group = UNKNOWN_GROUP,
  ): number {
    const slot = this.#free.pop() ?? this.keys.length;
    if (slot === this.generations.length) this.#grow();
    this.slots.add(key, slot);
    this.keys[slot] = key;
    this.generations[slot] = generation;
    this.kept[slot] = NOT_KEPT;
    this.#groups[slot] = group;
    this.set(slot, value, version);
    return slot;
  }

  set(slot: number, value: V | undefined, version: Ver): void {
    if (this.values[slot] === GONE) this.#goneCount -= 1;
    this.values[slot] = value;
    if (version !== undefined) this.versions[slot] = version;
  }

  remove(slot: number): void {
    this.values[slot] = GONE;
    this.#goneCount += 1;
  }

  /** Makes the slot of a removed key available again. */
  free(slot: number): void {
    this.#nextKeys = []; // it may be the slot of one of them
    this.slots.delete(this.keyAt(slot));
    this.keys[slot] = undefined;
    this.values[slot] = undefined;
    this.#goneCount -= 1;
    this.#free.push(slot);
  }

  markChanged(slot: number): void {
    this.#changed[Math.floor(slot / CHANGED_SLOTS)] = 1;
  }

  /** The marks since the last call. */
  takeChanged(): Uint8Array {
    const changed = this.#changed;
    this.#changed = new Uint8Array(changed.length);
    return changed;
  }

  setStored(slot: number, group: number, isStored: boolean): void {
    const difference = Number(isStored) - (this.#stored[slot] as number);
    if (difference === 0) return;
    this.#stored[slot] = Number(isStored);
    this.#storedByGroup[group] = this.storedIn(group) + difference;
  }

  /** Number of keys of a group in the checkpoint store. */
  storedIn(group: number): number {
    return this.#storedByGroup[group] ?? 0;
  }

  /** Infinity while it is unknown. */
  setStoredIn(group: number, keys: number): void {
    this.#storedByGroup[group] = keys;
  }

  groupAt(slot: number, keyGroups: number): number {
    const group = this.#groups[slot] as number;
    if (group !== UNKNOWN_GROUP) return group;
    const computed = groupOf(this.keyAt(slot), keyGroups);
    this.#groups[slot] = computed;
    return computed;
  }

  /** The slot must be in use. */
  keyAt(slot: number): Key {
    return this.keys[slot] as Key;
  }

  #grow(): void {
    const slots = this.generations.length * 2;
    this.generations = grown(this.generations, new Uint32Array(slots));
    this.kept = grown(this.kept, new Uint32Array(slots));
    this.#groups = grown(this.#groups, new Int16Array(slots));
    this.#stored = grown(this.#stored, new Uint8Array(slots));
    this.#changed = grown(this.#changed, new Uint8Array(slots / CHANGED_SLOTS));
  }
}

function grown<T extends Uint32Array | Int16Array | Uint8Array>(from: T, to: T): T {
  to.set(from);
  return to;
}

/**
 * Finds the slot of a key. Integers of 32 bits and short texts are in a hash table with linear probing, in which a
 * lookup waits for memory less often than in a Map. A Map has all other keys, and those whose hashes collide too often,
 * so that no choice of keys makes lookups slow.
 */
class SlotIndex {
  readonly #keys: readonly (Key | undefined)[];
  readonly #others = new Map<Key, number>();
  /**
   * Two words per place: the hash of a key, and its slot, with `TEXT` added for a text, or `NO_SLOT`. At most half of
   * the places are in use.
   */
  #table = new Int32Array(2 * PLACES_FIRST).fill(NO_SLOT);
  #count = 0;

  /** `keys` are those of the table, by slot. */
  constructor(keys: readonly (Key | undefined)[]) {
    this.#keys = keys;
  }

  get size(): number {
    return this.#others.size + this.#count;
  }

  get(key: Key): number | undefined {
    const place = isHashed(key) ? this.#find(key, hashOf(key)) : NO_PLACE;
    if (place !== NO_PLACE) return (this.#table[place + 1] as number) & ~TEXT;
    return this.#others.size === 0 ? undefined : this.#others.get(key);
  }

  /** Adds a key that is not in the index. */
  add(key: Key, slot: number): void {
    if ((this.#count + 1) * 4 > this.#table.length) this.#grow();
    const isPut =
      isHashed(key) && this.#put(hashOf(key), typeof key === 'string' ? slot | TEXT : slot);
    if (!isPut) this.#others.set(key, slot);
  }

  delete(key: Key): void {
    let free = isHashed(key) ? this.#find(key, hashOf(key)) : NO_PLACE;
    if (free === NO_PLACE) {
      this.#others.delete(key);
      return;
    }
    const table = this.#table;
    const mask = table.length - 1;
    // Keys after it move up if their search would otherwise end at the free place.
    for (let at = (free + 2) & mask; table[at + 1] !== NO_SLOT; at = (at + 2) & mask) {
      const first = ((table[at] as number) << 1) & mask;
      if (((at - first) & mask) < ((at - free) & mask)) continue;
      table[free] = table[at] as number;
      table[free + 1] = table[at + 1] as number;
      free = at;
    }
    table[free + 1] = NO_SLOT;
    this.#count -= 1;
  }

  #find(key: Key, hash: number): number {
    const table = this.#table;
    const isText = typeof key === 'string';
    const mask = table.length - 1;
    let place = (hash << 1) & mask;
    for (let step = 0; step < STEPS_MAX; step += 1) {
      const slot = table[place + 1] as number;
      if (slot === NO_SLOT) return NO_PLACE;
      if (table[place] === hash) {
        if (isText ? this.#keys[slot & ~TEXT] === key : slot < TEXT) return place;
      }
      place = (place + 2) & mask;
    }
    return NO_PLACE;
  }

  /** Returns false if there is no free place where `#find` would look. */
  #put(hash: number, slot: number): boolean {
    const table = this.#table;
    const mask = table.length - 1;
    let place = (hash << 1) & mask;
    for (let step = 0; step < STEPS_MAX; step += 1) {
      if (table[place + 1] === NO_SLOT) {
        table[place] = hash;
        table[place + 1] = slot;
        this.#count += 1;
        return true;
      }
      place = (place + 2) & mask;
    }
    return false;
  }

  #grow(): void {
    const before = this.#table;
    this.#table = new Int32Array(2 * before.length).fill(NO_SLOT);
    this.#count = 0;
    for (let at = 0; at < before.length; at += 2) {
      const slot = before[at + 1] as number;
      if (slot === NO_SLOT || this.#put(before[at] as number, slot)) continue;
      this.#others.set(this.#keys[slot & ~TEXT] as Key, slot & ~TEXT);
    }
  }
}

function isHashed(key: Key): key is number | string {
  if (typeof key === 'number') return (key | 0) === key;
  return typeof key === 'string' && key.length <= HASHED_TEXT_MAX;
}

function hashOf(key: number | string): number {
  if (typeof key === 'number') return fmix32(key) | 0;
  let hash = key.length;
  for (let at = 0; at < key.length; at += 1) {
    hash = Math.imul(hash ^ key.charCodeAt(at), FNV_PRIME);
  }
  return fmix32(hash) | 0;
}
