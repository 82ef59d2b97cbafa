// The class of durability that clients may count on: what the node was started with, and then what the last
// CONFIG SET has answered. While one is under way, and after two at once, it may be either.
import type { Durability } from '@syncline/kernel';
import type { RandomCommand } from './random-commands.js';
import type { Sent } from './sets-life.js';

export class ToldDurability {
  #told: Durability | undefined;
  #inFlight = 0;
  #isUnsure = false;

  constructor(durability: Durability) {
    this.#told = durability;
  }

  get now(): Durability | undefined {
    return this.#told;
  }

  sent(command: RandomCommand): void {
    if (classOf(command) === undefined) return;
    this.#told = undefined;
    if (this.#inFlight > 0) this.#isUnsure = true;
    this.#inFlight += 1;
  }

  answered(sent: Sent): void {
    const asked = classOf(sent);
    if (asked === undefined) return;
    this.#inFlight -= 1;
    if (sent.answer?.replies[0]?.type !== '+') this.#isUnsure = true;
    if (this.#inFlight > 0) return;
    this.#told = this.#isUnsure ? undefined : asked;
    this.#isUnsure = false;
  }
}

function classOf({ words: [first] }: RandomCommand): Durability | undefined {
  if (first?.[0] !== 'CONFIG') return undefined;
  return first.at(-1) === 'always' ? 'synced' : 'buffered';
}
