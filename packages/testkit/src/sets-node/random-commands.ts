// Commands over a small alphabet: changes first of all, and every kind of read. In some runs there is also a set that
// is too large to be walked at once.
import type { SeededRandom } from '@syncline/kernel/testing';

const SETS = ['a', 'b', 'c'];
const MEMBERS = ['p', 'q', 'r', 's', 't'];
const LARGE = 'large';
/** The index of a table is walked segment by segment, and a segment holds up to 400 members. */
const LARGE_MEMBERS = 1_200;
const LARGE_PART = 0.15;
const TRANSACTION_PART = 0.1;
const FLUSH_PART = 0.01;

export interface RandomCommand {
  readonly words: readonly (readonly string[])[];
  readonly isTransaction: boolean;
}

export interface RandomCommandsOptions {
  readonly isLarge: boolean;
  /** Part of the commands that change the class of durability. */
  readonly switchPart: number;
  /** Part of the commands that start a checkpoint. */
  readonly savePart: number;
}

/** What commands are made of. */
interface Parts {
  readonly set: () => string;
  readonly sets: () => readonly string[];
  readonly member: () => string;
  /** One to four, which may repeat. */
  readonly members: () => readonly string[];
  /** Up to so many members of the large set. */
  readonly largeMembers: (most: number) => readonly string[];
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

const LARGE_COMMANDS: readonly Maker[] = [
  () => ['SADD', LARGE, ...membersOf(0, LARGE_MEMBERS)],
  ({ largeMembers }) => ['SADD', LARGE, ...largeMembers(200)],
  ({ largeMembers }) => ['SADD', LARGE, ...largeMembers(10)],
  ({ largeMembers }) => ['SREM', LARGE, ...largeMembers(200)],
  ({ largeMembers }) => ['SREM', LARGE, ...largeMembers(10)],
  ({ below }) => ['SPOP', LARGE, String(below(100))],
  ({ set, largeMembers }) => ['SMOVE', LARGE, set(), ...largeMembers(1)],
  () => ['SMEMBERS', LARGE],
  () => ['SMEMBERS', LARGE],
  () => ['SMEMBERS', LARGE],
  () => ['SMEMBERS', LARGE],
  ({ set }) => ['SUNION', set(), LARGE],
  ({ set }) => ['SDIFF', LARGE, set()],
  () => ['SCARD', LARGE],
];

export class RandomCommands {
  readonly #random: SeededRandom;
  readonly #options: RandomCommandsOptions;
  readonly #parts: Parts;

  constructor(random: SeededRandom, options: RandomCommandsOptions) {
    const below = (end: number) => Math.floor(random.float() * end);
    const oneOf = (texts: readonly string[]) => texts[below(texts.length)] ?? '';
    const some = (most: number, make: () => string) =>
      Array.from({ length: 1 + below(most) }, make);
    const set = () => oneOf(SETS);
    const member = () => oneOf(MEMBERS);
    this.#random = random;
    this.#options = options;
    this.#parts = {
      set,
      member,
      below,
      sets: () => some(3, set),
      members: () => some(4, member),
      largeMembers: (most) => membersOf(below(LARGE_MEMBERS), 1 + below(most)),
    };
  }

  next(): RandomCommand {
    const { isLarge, switchPart, savePart } = this.#options;
    if (this.#happens(switchPart))
      return lone(['CONFIG', 'SET', 'appendfsync', this.#happens(0.5) ? 'always' : 'everysec']);
    if (this.#happens(savePart)) return lone(['BGSAVE']);
    if (this.#happens(FLUSH_PART)) return lone(['FLUSHALL']);
    if (isLarge && this.#happens(LARGE_PART)) return lone(this.#make(LARGE_COMMANDS));
    if (!this.#happens(TRANSACTION_PART)) return lone(this.#draw(LONE_CHANGES, LONE_READS));
    const count = 1 + this.#parts.below(4);
    const words = Array.from({ length: count }, () => this.#draw(CHANGES, READS));
    return { words, isTransaction: true };
  }

  #draw(changes: readonly Maker[], reads: readonly Maker[]): readonly string[] {
    return this.#make(this.#happens(0.6) ? changes : reads);
  }

  #make(makers: readonly Maker[]): readonly string[] {
    return makers[this.#parts.below(makers.length)]?.(this.#parts) ?? [];
  }

  #happens(probability: number): boolean {
    return this.#random.float() < probability;
  }
}

function lone(words: readonly string[]): RandomCommand {
  return { words: [words], isTransaction: false };
}

function membersOf(from: number, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `m${(from + index) % LARGE_MEMBERS}`);
}
