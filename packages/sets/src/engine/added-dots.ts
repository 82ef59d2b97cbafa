// Dots that were added since one moment, with their elements: what a pull must look at again before it is applied.
//
// It is a kind of pin: it obeys the same bound, and an undone turn takes its entries back.
import type { Dot, VersionVector } from '@syncline/kernel';
import { memberBuffer, memberEnd, memberStart } from '../memory/element-row.js';
import type { OpenPin } from './open-pins.js';
import { DroppedList } from './pins.js';
import type { SetEntry } from './set-table.js';
import type { SetsState } from './sets-state.js';

export class AddedDots implements OpenPin {
  readonly #state: SetsState;
  #list = new DroppedList();
  #limit: VersionVector | undefined;
  #isBroken = false;

  constructor(state: SetsState) {
    this.#state = state;
    state.pins.add(this);
  }

  get entries(): number {
    return this.#list.length;
  }

  get bytes(): number {
    return this.#list.memoryBytes;
  }

  /** Too much was added: the list is not complete. */
  get isBroken(): boolean {
    return this.#isBroken;
  }

  dropped(): void {}

  added(set: SetEntry, row: number, dot: Dot): void {
    if (this.#limit !== undefined && !this.#limit.covers(dot)) return;
    const { heap } = this.#state;
    this.#list.push(set, memberBuffer(heap, row), memberStart(row), memberEnd(heap, row), dot);
  }

  turnSettled(): void {
    this.#list.settle();
  }

  turnUndone(): void {
    this.#list.undo();
  }

  /** From now on only dots that this version covers matter. Between turns. */
  limitTo(version: VersionVector): void {
    const before = this.#list;
    this.#limit = version;
    this.#list = new DroppedList();
    for (let index = 0; index < before.length; index += 1) {
      const member = before.memberAt(index);
      if (version.covers(before.dotAt(index)))
        this.#list.push(before.setAt(index), member, 0, member.length, before.dotAt(index));
    }
    this.#list.settle();
  }

  forEach(visit: (set: Uint8Array, member: Uint8Array, dot: Dot) => void): void {
    for (let index = 0; index < this.#list.length; index += 1)
      visit(this.#list.setAt(index).name, this.#list.memberAt(index), this.#list.dotAt(index));
  }

  break(): void {
    this.#isBroken = true;
    this.close();
  }

  close(): void {
    this.#state.pins.remove(this);
    this.#list = new DroppedList();
  }
}
