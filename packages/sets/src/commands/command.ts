// The shape of a command. Each lies in a file of its own; `command-table.ts` lists them all, and arity,
// flags, COMMAND and docs/COMMANDS.md come from that one table.
import type { ByteList } from '../byte-list.js';
import type { Keyspace } from '../keyspace.js';
import type { Reply } from '../resp/reply.js';
import type { Client } from './client.js';
import type { PatternMeter } from './pattern-meter.js';
import type { ServerFacts } from './server-facts.js';

export interface CommandContext {
  /** The words of the command, its name first. They stay until it has answered. */
  readonly args: ByteList;
  readonly reply: Reply;
  readonly keyspace: Keyspace;
  readonly client: Client<QueuedCommand>;
  readonly facts: ServerFacts;
  /**
   * Only where a transaction holds a command that walks the keyspace: the names of all sets that there are
   * and that the transaction may make.
   */
  readonly setNames?: SetNames;
  /** Of the transaction, for its patterns. Else each pattern has its own. */
  readonly patternMeter?: PatternMeter;
}

export interface Command {
  /** Lower case. */
  readonly name: string;
  /** Words with the name; negative: at least as many. Checked before it runs. */
  readonly arity: number;
  /** Words with the name, where all are looked at within a turn. More are refused. Left out: any number. */
  readonly wordsMax?: number;
  readonly flags: readonly CommandFlag[];
  readonly group: 'set' | 'generic' | 'connection' | 'server' | 'transactions' | 'syncline';
  /** The words behind the name, for help texts and docs/COMMANDS.md: `key member [member ...]`. */
  readonly syntax?: string;
  /** One sentence for COMMAND DOCS and docs/COMMANDS.md. */
  readonly summary: string;
  /** How it differs from Redis, for docs/COMMANDS.md. */
  readonly difference?: string;
  /** Where its keys stand, as COMMAND says it. */
  readonly keys?: KeyPositions;
  /**
   * What it walks. `run` is called when that fits into a turn, else `runLong`. Left out: it always fits.
   */
  readonly walks?: (args: ByteList) => Walk;
  /** Named without the command: `get`, not `config|get`. Their `args` are the whole command. */
  readonly subcommands?: readonly Command[];
  /** Why nobody may run it; said at once, inside MULTI too. */
  readonly refusal?: string;
  /** Its answer may come in a later turn, so it cannot be part of a transaction. */
  readonly waits?: true;
  /**
   * Answers within the turn. Only one that `waits` may give a promise; the connection waits for it.
   * A `SynclineError` that is thrown becomes the answer. But `limit-exceeded` says that the change is too
   * large for one operation: then nothing has changed, and outside a transaction `runLong` follows.
   */
  run(context: CommandContext): void | Promise<void>;
  /** The same beyond a turn, for sets that are not at hand. The connection waits for it. */
  runLong?(context: CommandContext, signal: AbortSignal): Promise<void>;
}

export type CommandFlag =
  | 'write'
  | 'readonly'
  | 'fast'
  | 'denyoom'
  | 'admin'
  | 'noscript'
  | 'random'
  | 'loading'
  | 'stale'
  | 'no_auth'
  | 'no_multi'
  | 'allow_busy'
  | 'movablekeys'
  | 'skip_slowlog';

export interface KeyPositions {
  readonly first: number;
  /** -1: the last word. */
  readonly last: number;
  readonly step: number;
  /** The word that says how many keys stand behind it; first, last and step are 0 then. */
  readonly countAt?: number;
}

/** `removes`: what is walked is removed, so in a transaction it counts as changes and not as reads. */
export type Walk =
  | SetsWalk
  | PartWalk
  /** So many sets or members are asked for by name. */
  | { readonly kind: 'names'; readonly count: number }
  /** All sets there are. Never at hand outside a transaction, which then gives `setNames`. */
  | { readonly kind: 'keyspace'; readonly removes: boolean }
  /** More changes than an operation holds, whatever the sets are. A transaction that has one is refused. */
  | { readonly kind: 'long' }
  | { readonly kind: 'none' };

/**
 * The sets that the words from `from` up to `to` name. They must be at hand, with at most `turnMembersMax`
 * members all together, repeated ones each time.
 */
export interface SetsWalk {
  readonly kind: 'sets';
  readonly from: number;
  readonly to: number;
  readonly removes: boolean;
}

/** Some members of the set that a word names. It must be in memory. */
export interface PartWalk {
  readonly kind: 'part';
  readonly key: number;
  /** At most so many are looked at. */
  readonly members: number;
  /** One member may be looked at several times. */
  readonly repeats: boolean;
  readonly removes: boolean;
  /**
   * Where a turn is enough for it: for any set, for one whose members are not too long, for one at hand, or only
   * inside a transaction, which counts.
   */
  readonly fits: 'any-set' | 'short-members' | 'set-at-hand' | 'transaction';
}

/** Each name stands in them once. */
export interface SetNames {
  /** Sets that there are, and that no command of the transaction changes. */
  readonly lasting: readonly Uint8Array[];
  /** Sets that may come and go within the transaction; those without members are to be left out. */
  readonly changing: readonly Uint8Array[];
}

/** A command of the table, with what its flags mean for the dispatch. */
export interface KnownCommand {
  readonly command: Command;
  /** `sadd`, or `config|set` for a subcommand. */
  readonly fullName: string;
  /** What it does with sets; undefined for commands that touch none. */
  readonly access: 'read' | 'write' | undefined;
  /** Counters may be taken by it: a write, or EXEC. */
  readonly makesOperations: boolean;
  /** Answers without a password. */
  readonly isOpen: boolean;
  /** Answers while the sets are loaded from a peer. */
  readonly isLoadable: boolean;
  /** Runs at once inside MULTI, instead of being queued. */
  readonly isNeverQueued: boolean;
  readonly isRefusedInMulti: boolean;
  readonly subcommands: CommandFinder | undefined;
}

export interface CommandFinder {
  readonly all: readonly KnownCommand[];
  /** The command that this word names, in any case. */
  find(args: ByteList, index: number): KnownCommand | undefined;
}

/** Between MULTI and EXEC. The bytes are its own. */
export interface QueuedCommand {
  readonly known: KnownCommand;
  readonly args: ByteList;
}
