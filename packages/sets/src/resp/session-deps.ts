// What the sessions of all RESP connections need: the commands behind them and the commits before their replies.
import type { Clock, Metrics, SynclineError } from '@syncline/kernel';
import type { Client } from '../commands/client.js';
import type { CommandContext } from '../commands/command.js';
import type { ServerFacts } from '../commands/server-facts.js';
import type { Keyspace } from '../keyspace.js';

export interface SessionDeps {
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly keyspace: Keyspace;
  readonly commits: SettledCommits;
  readonly facts: ServerFacts;
  /** Connections that stand, by id: filled here, and shown to commands as `facts.clients`. */
  readonly clients: Map<number, Client>;
  /**
   * Answers one command. A promise: the answer comes later, and what is behind it on the connection
   * waits. It neither throws nor rejects but for a bug of ours.
   */
  readonly dispatch: (context: CommandContext) => void | Promise<void>;
}

/** The commits as sessions see them. */
export interface SettledCommits {
  /** The newest commit that is not settled; 0 when all are. */
  readonly newest: number;
  /** Writes of the journal that failed since the start, and why the last one did. */
  readonly failuresCount: number;
  readonly lastFailure: SynclineError | undefined;
  /** Calls back once the commit is stored, or undone because of the error; at once if it is settled. */
  whenSettled(commit: number, listener: (error: SynclineError | undefined) => void): void;
}
