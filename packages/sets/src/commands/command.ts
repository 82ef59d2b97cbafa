// The shape of a command. `command-table.ts` lists all of them; arity, flags, COMMAND and docs/COMMANDS.md
// come from that one table.
import type { ByteList } from '../byte-list.js';
import type { Keyspace } from '../keyspace.js';
import type { Reply } from '../resp/reply-writer.js';
import type { Client } from './client.js';
import type { PatternMeter } from './glob.js';
import type { Load } from './load.js';
import type { ServerFacts } from './server-facts.js';

export interface CommandContext {
  /** The words of the command, its name first. They are valid until it has replied: see `KnownCommand.mayWait`. */
  readonly args: ByteList;
  readonly reply: Reply;
  readonly keyspace: Keyspace;
  readonly client: Client<QueuedCommand>;
  readonly facts: ServerFacts;
  /** What the words name, if that is known: in pipelines the same command often follows. */
  known?: KnownCommand | undefined;
  /** Only inside a transaction, whose commands share it. Otherwise each pattern has its own. */
  readonly patternMeter?: PatternMeter;
}

export interface Command {
  /** In lower case. */
  readonly name: string;
  /** Number of words including the name; negative for a minimum. Checked before the command runs. */
  readonly arity: number;
  /** The most words it accepts, for commands that look at all of them within a turn. Default: any number. */
  readonly wordsMax?: number;
  readonly flags: readonly CommandFlag[];
  readonly group: 'set' | 'generic' | 'connection' | 'server' | 'transactions' | 'syncline';
  /** The arguments after the name, for help texts and docs/COMMANDS.md: `key member [member ...]`. */
  readonly syntax?: string;
  /** One sentence for COMMAND DOCS and docs/COMMANDS.md. */
  readonly summary: string;
  /** How it differs from Redis, for docs/COMMANDS.md. */
  readonly difference?: string;
  /** Where its keys are, as COMMAND reports it. */
  readonly keys?: KeyPositions;
  /**
   * Adds what the command is about to read and remove to the load. When that is too much for one turn,
   * `runLong` is called instead of `run`; when it is too much for a transaction, the transaction is refused.
   * Left out: it always fits.
   */
  readonly estimate?: (context: CommandContext, load: Load) => void;
  /** Their names are those without the command: `get`, not `config|get`. Their `args` are the whole command. */
  readonly subcommands?: readonly Command[];
  /** The error that everyone gets, also when queueing it inside MULTI. */
  readonly refusal?: string;
  /** It may answer in a later turn, so it cannot be part of a transaction. */
  readonly waits?: true;
  /**
   * Replies within the turn. Only a command that `waits`, or WAIT outside a transaction, may return a promise; its
   * connection waits for it. A `SynclineError` that is thrown becomes the reply. `limit-exceeded` means that it is
   * too large for one turn or one operation and has changed nothing: outside a transaction `runLong` is called next.
   */
  run(context: CommandContext): void | Promise<void>;
  /** The same in slices, over several turns. The connection waits for it. */
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
  | 'no_async_loading'
  | 'stale'
  | 'no_auth'
  | 'no_multi'
  | 'allow_busy'
  | 'movablekeys'
  | 'skip_slowlog';

export interface KeyPositions {
  readonly first: number;
  /** -1 is the last word. */
  readonly last: number;
  readonly step: number;
  /** Index of the word that holds the number of keys after it; first, last and step are 0 then. */
  readonly countAt?: number;
}

export const keyAtFirst: KeyPositions = { first: 1, last: 1, step: 1 };
export const keysToLast: KeyPositions = { first: 1, last: -1, step: 1 };

/** A command of the table, with what its flags mean for dispatching it. */
export interface KnownCommand {
  readonly command: Command;
  // Copied from the command, since objects of one shape are read faster.
  readonly arity: number;
  readonly wordsMax: number;
  readonly keys: KeyPositions | undefined;
  readonly refusal: string | undefined;
  readonly estimate: Command['estimate'];
  readonly run: Command['run'];
  /** It may reply in a later turn, so its words are copied before it runs. */
  readonly mayWait: boolean;
  /** `sadd`, or `config|set` for a subcommand. */
  readonly fullName: string;
  /** What it does with sets; undefined for commands that touch none. */
  readonly access: 'read' | 'write' | undefined;
  /** Its reply depends on sets, so it is refused when changes that it may have seen are undone. */
  readonly usesSets: boolean;
  /** It may create operations: a write, or EXEC. */
  readonly makesOperations: boolean;
  /** It answers clients that have not authenticated. */
  readonly isOpen: boolean;
  /** It answers while the sets are being loaded. */
  readonly isLoadable: boolean;
  /** It is refused while memory is above `maxmemory`. */
  readonly isDeniedOnOom: boolean;
  /** Inside MULTI it runs at once instead of being queued. */
  readonly isNeverQueued: boolean;
  readonly isRefusedInMulti: boolean;
  readonly subcommands: CommandFinder | undefined;
}

export interface CommandFinder {
  readonly all: readonly KnownCommand[];
  /** The command with this name, in any case. */
  find(args: ByteList, index: number): KnownCommand | undefined;
}

/** Between MULTI and EXEC, with a copy of its bytes. */
export interface QueuedCommand {
  readonly known: KnownCommand;
  readonly args: ByteList;
}

export type DefineCommand = (
  name: string,
  arity: number,
  flags: readonly CommandFlag[],
  rest: Omit<Command, 'name' | 'arity' | 'flags' | 'group'>,
) => Command;

/** For the commands of a group: name, arity and flags in one line, as in Redis's own table. */
export function commandsIn(group: Command['group']): DefineCommand {
  return (name, arity, flags, rest) => ({ name, arity, flags, group, ...rest });
}

/** The subcommands with a HELP that is made from them. */
export function withHelp(
  define: DefineCommand,
  container: string,
  subcommands: readonly Command[],
): readonly Command[] {
  const help = define('help', 2, ['loading', 'stale'], {
    summary: 'Prints this help.',
    difference: 'Lists the subcommands that Syncline supports.',
    run({ reply }) {
      const lines = [...subcommands, help].flatMap(({ name, syntax = '', summary }) => [
        `${name.toUpperCase()} ${syntax}`.trim(),
        `    ${summary}`,
      ]);
      reply.array(lines.length + 1);
      reply.simple(
        `${container.toUpperCase()} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:`,
      );
      for (const line of lines) reply.simple(line);
    },
  });
  return [...subcommands, help];
}
