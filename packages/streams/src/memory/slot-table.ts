// The keys of a memory state, each in a numbered slot, with their values beside them in plain arrays.
//
// An object per key would cost a cache miss on each update, and twice the memory: with 100,000 random
// keys, updates are nearly twice as fast this way. Slots of removed keys are used again, but not while a
// snapshot is being encoded, which still sorts by the old keys.
import type { Key } from '../state/key.js';

const SLOTS_FIRST = 1_024;
const UNKNOWN_GROUP = -1;

export class SlotTable<V, Ver> {
  readonly slots = new Map<Key, number>();
  /** By slot; undefined if the slot is free. */
  readonly keys: (Key | undefined)[] = [];
  readonly values: (V | undefined)[] = [];
  readonly versions: Ver[] = [];
  /** By slot: the newest snapshot that needs nothing more of what is in it. */
  generations = new Uint32Array(SLOTS_FIRST);
  /** By slot: the key group, once it was needed. */
  #groups = new Int16Array(SLOTS_FIRST);
  readonly #free: number[] = [];
  /** Slots that become free when `release` is called. */
  readonly #removed: number[] = [];

  /** Puts a key that has no slot into one. */
  insert(key: Key, value: V | undefined, version: Ver, generation: number): number {
    const slot = this.#free.pop() ?? this.keys.length;
    if (slot === this.generations.length) this.#grow();
    this.slots.set(key, slot);
    this.keys[slot] = key;
    this.values[slot] = value;
    this.versions[slot] = version;
    this.generations[slot] = generation;
    this.#groups[slot] = UNKNOWN_GROUP;
    return slot;
  }

  /** Takes a key out. Its slot keeps the key until `release`. */
  remove(slot: number, key: Key): void {
    this.slots.delete(key);
    this.values[slot] = undefined;
    this.#removed.push(slot);
  }

  /** Lets the slots of removed keys be used again. */
  release(): void {
    for (const slot of this.#removed) {
      this.keys[slot] = undefined;
      this.#free.push(slot);
    }
    this.#removed.length = 0;
  }

  groupAt(slot: number, compute: (key: Key) => number): number {
    const group = this.#groups[slot] as number;
    if (group !== UNKNOWN_GROUP) return group;
    const computed = compute(this.keyAt(slot));
    this.#groups[slot] = computed;
    return computed;
  }

  /** Of a slot that is in use. */
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
