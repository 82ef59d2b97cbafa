// Random commands: mostly changes, and every kind of read. Few sets and members, so that clients conflict; in some
// runs also a set that is too large to be walked in one turn.
import type { SeededRandom } from '@syncline/kernel/testing';

/** The index of a table is walked segment by segment, and a segment holds up to 400 members. */
const LARGE_MEMBERS = 1_200;
const LARGE_PART = 0.15;
const TRANSACTION_PART = 0.1;
const CHANGES_PART = 0.6;

// Lower-case words are placeholders. A command listed more often is drawn more often.
const CHANGES = commandsIn(`
  SADD set members, SADD set members, SADD set members, SREM set members, SREM set members,
  SMOVE set set member, SMOVE set set member, DEL sets,
  SUNIONSTORE set sets, SINTERSTORE set sets, SDIFFSTORE set sets`);
const READS = commandsIn(`
  SMEMBERS set, SMEMBERS set, SCARD set, SISMEMBER set member, SMISMEMBER set members,
  SUNION sets, SINTER sets, SDIFF sets, EXISTS sets, DBSIZE, KEYS *`);
const LONE_CHANGES = [
  ...[...CHANGES, ...CHANGES, ...CHANGES],
  ...commandsIn('SPOP set, SPOP set, SPOP set, SPOP set count, SPOP set count, FLUSHALL'),
];
const LONE_READS = [
  ...READS,
  ...commandsIn('SRANDMEMBER set count, SSCAN set 0 COUNT 100'),
  ...commandsIn('SYNCLINE.DIGEST, SYNCLINE.DIGEST, SYNCLINE.VV'),
];
const LARGE_COMMANDS = commandsIn(`
  SADD large all, SADD large many, SADD large few, SREM large many, SREM large few, SPOP large 50,
  SMOVE large set one, SMEMBERS large, SMEMBERS large, SMEMBERS large, SMEMBERS large,
  SUNION set large, SDIFF large set, SCARD large`);
const SWITCHES = commandsIn('CONFIG SET appendfsync always, CONFIG SET appendfsync everysec');

export interface RandomCommand {
  readonly words: readonly (readonly string[])[];
  readonly isTransaction: boolean;
}

export interface RandomCommandsOptions {
  readonly isLarge: boolean;
  /** Fraction of the commands that change the durability class. */
  readonly switchPart: number;
  /** Fraction of the commands that start a checkpoint. */
  readonly savePart: number;
}

export class RandomCommands {
  readonly #random: SeededRandom;
  readonly #options: RandomCommandsOptions;

  constructor(random: SeededRandom, options: RandomCommandsOptions) {
    this.#random = random;
    this.#options = options;
  }

  next(): RandomCommand {
    const { isLarge, switchPart, savePart } = this.#options;
    const changeOrRead = <T>(changes: T, reads: T) =>
      this.#happens(CHANGES_PART) ? changes : reads;
    if (this.#happens(switchPart)) return this.#one(SWITCHES);
    if (this.#happens(savePart)) return this.#one(['BGSAVE']);
    if (isLarge && this.#happens(LARGE_PART)) return this.#one(LARGE_COMMANDS);
    if (!this.#happens(TRANSACTION_PART)) return this.#one(changeOrRead(LONE_CHANGES, LONE_READS));
    const words = this.#some(4, () => this.#wordsOf(changeOrRead(CHANGES, READS)));
    return { words, isTransaction: true };
  }

  #one(commands: readonly string[]): RandomCommand {
    return { words: [this.#wordsOf(commands)], isTransaction: false };
  }

  #wordsOf(commands: readonly string[]): readonly string[] {
    const words = this.#oneOf(commands).split(' ');
    return words.flatMap((word) => this.#draws[word]?.() ?? [word]);
  }

  readonly #draws: Readonly<Record<string, () => readonly string[]>> = {
    set: () => [this.#oneOf(['a', 'b', 'c'])],
    sets: () => this.#some(3, () => this.#oneOf(['a', 'b', 'c'])),
    member: () => [this.#oneOf(['p', 'q', 'r', 's', 't'])],
    members: () => this.#some(4, () => this.#oneOf(['p', 'q', 'r', 's', 't'])), // they may repeat
    count: () => [String(this.#below(4))],
    one: () => this.#largeMembers(1),
    few: () => this.#largeMembers(1 + this.#below(10)),
    many: () => this.#largeMembers(1 + this.#below(200)),
    all: () => this.#largeMembers(LARGE_MEMBERS),
  };

  #largeMembers(count: number): readonly string[] {
    const from = this.#below(LARGE_MEMBERS);
    return Array.from({ length: count }, (_, index) => `m${(from + index) % LARGE_MEMBERS}`);
  }

  #some<T>(most: number, make: () => T): readonly T[] {
    return Array.from({ length: 1 + this.#below(most) }, make);
  }

  #oneOf(texts: readonly string[]): string {
    return texts[this.#below(texts.length)] ?? '';
  }

  #below(end: number): number {
    return Math.floor(this.#random.float() * end);
  }

  #happens(probability: number): boolean {
    return this.#random.float() < probability;
  }
}

function commandsIn(text: string): readonly string[] {
  return text.split(',').map((command) => command.trim());
}
