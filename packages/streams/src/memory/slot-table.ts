// The keys of a memory state, each in a numbered slot, with their values in parallel arrays.
//
// An object per key would cost a cache miss on each update, and twice the memory: with 100,000 random keys, updates are
// nearly twice as fast this way.
//
// A removed key keeps its slot, marked `GONE`, until a capture has recorded the removal and while a snapshot still
// sorts by it. Most removed keys come back, such as those of the next window.
import { groupOf, type Key } from '../state/key.js';

const SLOTS_FIRST = 1_024;
const UNKNOWN_GROUP = -1;

/** The value of a slot whose key was removed. */
export const GONE = Symbol('gone');

export class SlotTable<V, Ver> {
  /** Including slots of removed keys. */
  readonly slots = new Map<Key, number>();
  /** By slot; undefined if the slot is free. */
  readonly keys: (Key | undefined)[] = [];
  readonly values: (V | typeof GONE | undefined)[] = [];
  /** Empty for states without versions. */
  readonly versions: Ver[] = [];
  /** By slot: the generation of the newest capture that no longer needs its content. */
  generations = new Uint32Array(SLOTS_FIRST);
  /** By slot: the key group, computed on demand. */
  #groups = new Int16Array(SLOTS_FIRST);
  readonly #free: number[] = [];
  #goneCount = 0;

  /** Number of keys, not counting removed ones. */
  get count(): number {
    return this.slots.size - this.#goneCount;
  }

  /** The slot of a removed key, if it still has one. */
  goneSlot(key: Key): number | undefined {
    return this.#goneCount === 0 ? undefined : this.slots.get(key);
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
    this.slots.set(key, slot);
    this.keys[slot] = key;
    this.generations[slot] = generation;
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
    this.slots.delete(this.keyAt(slot));
    this.keys[slot] = undefined;
    this.values[slot] = undefined;
    this.#goneCount -= 1;
    this.#free.push(slot);
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
    const generations = new Uint32Array(this.generations.length * 2);
    generations.set(this.generations);
    this.generations = generations;
    const groups = new Int16Array(this.#groups.length * 2);
    groups.set(this.#groups);
    this.#groups = groups;
  }
}
