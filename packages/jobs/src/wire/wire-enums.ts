// The closed lists of the contract: our words and its numbers. A number is the place in the list, from 1 up; 0 is
// what a sender left out.
import type { Durability } from '@syncline/kernel';
import type { LeaseRequest, LeaseState } from '../job.js';
import type { GapReason, History, Overflow } from '../job-event.js';
import type { StatusClass } from '../status.js';

export class WireEnum<Word extends string> {
  readonly #words: readonly Word[];

  constructor(words: readonly Word[]) {
    this.#words = words;
  }

  numberOf(word: Word): number {
    return this.#words.indexOf(word) + 1;
  }

  /** Undefined for 0 and for what the contract does not know. */
  wordOf(number: number): Word | undefined {
    return this.#words[number - 1];
  }
}

export const leaseStates = new WireEnum<LeaseState>(['held', 'released', 'lost']);
export const leaseActions = new WireEnum<LeaseRequest['action']>(['claim', 'renew', 'release']);
export const gapReasons = new WireEnum<GapReason>(['overflow', 'compacted', 'reset', 'deleted']);
export const histories = new WireEnum<History>(['all', 'latest']);
export const overflows = new WireEnum<Overflow>(['block', 'coalesce', 'fail']);
export const durabilities = new WireEnum<Durability>(['buffered', 'synced']);
export const statusClasses = new WireEnum<StatusClass>([
  'not-started',
  'running',
  'finished',
  'warned',
  'failed',
]);
