// Commands over a small alphabet: changes first of all, and every kind of read.
import type { SeededRandom } from '@syncline/kernel/testing';

const SETS = ['a', 'b', 'c'];
const MEMBERS = ['p', 'q', 'r', 's', 't'];
const TRANSACTION_PROBABILITY = 0.1;

export interface RandomCommand {
  readonly words: readonly (readonly string[])[];
  readonly isTransaction: boolean;
}

/** What commands are made of. */
interface Parts {
  readonly set: () => string;
  readonly sets: () => readonly string[];
  readonly member: () => string;
  /** One to four, which may repeat. */
  readonly members: () => readonly string[];
  readonly below: (end: number) => number;
}

type Maker = (parts: Parts) => readonly string[];

/** Each as often as it stands here. */
const CHANGES: readonly Maker[] = [
  ({ set, members }) => ['SADD', set(), ...members()],
  ({ set, members }) => ['SADD', set(), ...members()],
  ({ set, members }) => ['SADD', set(), ...members()],
  ({ set, members }) => ['SREM', set(), ...members()],
  ({ set, members }) => ['SREM', set(), ...members()],
  ({ set, member }) => ['SMOVE', set(), set(), member()],
  ({ set, member }) => ['SMOVE', set(), set(), member()],
  ({ sets }) => ['DEL', ...sets()],
  ({ set, sets }) => ['SUNIONSTORE', set(), ...sets()],
  ({ set, sets }) => ['SINTERSTORE', set(), ...sets()],
  ({ set, sets }) => ['SDIFFSTORE', set(), ...sets()],
];

const LONE_CHANGES: readonly Maker[] = [
  ...CHANGES,
  ({ set }) => ['SPOP', set()],
  ({ set, below }) => ['SPOP', set(), String(below(4))],
];

const READS: readonly Maker[] = [
  ({ set }) => ['SMEMBERS', set()],
  ({ set }) => ['SMEMBERS', set()],
  ({ set }) => ['SCARD', set()],
  ({ set, member }) => ['SISMEMBER', set(), member()],
  ({ set, members }) => ['SMISMEMBER', set(), ...members()],
  ({ sets }) => ['SUNION', ...sets()],
  ({ sets }) => ['SINTER', ...sets()],
  ({ sets }) => ['SDIFF', ...sets()],
  ({ sets }) => ['EXISTS', ...sets()],
  () => ['DBSIZE'],
  () => ['KEYS', '*'],
];

const LONE_READS: readonly Maker[] = [
  ...READS,
  ({ set, below }) => ['SRANDMEMBER', set(), String(below(4))],
  ({ set }) => ['SSCAN', set(), '0', 'COUNT', '100'],
  () => ['SYNCLINE.DIGEST'],
  () => ['SYNCLINE.DIGEST'],
  () => ['SYNCLINE.VV'],
];

const FLUSH = ['FLUSHALL'] as const;
const FLUSH_PROBABILITY = 0.01;

export class RandomCommands {
  readonly #random: SeededRandom;
  readonly #parts: Parts;
  readonly #switchPart: number;

  constructor(random: SeededRandom, options: { readonly switchPart: number }) {
    const below = (end: number) => Math.floor(random.float() * end);
    const oneOf = (texts: readonly string[]) => texts[below(texts.length)] ?? '';
    const some = (most: number, make: () => string) =>
      Array.from({ length: 1 + below(most) }, make);
    const set = () => oneOf(SETS);
    const member = () => oneOf(MEMBERS);
    this.#random = random;
    this.#switchPart = options.switchPart;
    this.#parts = { set, member, below, sets: () => some(3, set), members: () => some(4, member) };
  }

  next(): RandomCommand {
    const random = this.#random;
    if (random.float() < this.#switchPart) {
      const value = random.float() < 0.5 ? 'always' : 'everysec';
      return { words: [['CONFIG', 'SET', 'appendfsync', value]], isTransaction: false };
    }
    if (random.float() < FLUSH_PROBABILITY) return { words: [FLUSH], isTransaction: false };
    if (random.float() >= TRANSACTION_PROBABILITY)
      return { words: [this.#draw(LONE_CHANGES, LONE_READS)], isTransaction: false };
    const count = 1 + this.#parts.below(4);
    const words = Array.from({ length: count }, () => this.#draw(CHANGES, READS));
    return { words, isTransaction: true };
  }

  #draw(changes: readonly Maker[], reads: readonly Maker[]): readonly string[] {
    const makers = this.#random.float() < 0.6 ? changes : reads;
    const make = makers[this.#parts.below(makers.length)];
    return make?.(this.#parts) ?? [];
  }
}
