// Sessions with toy commands, toy commits and a sink that can be stopped: what tests of sessions need.
import type { Clock, SynclineError } from '@syncline/kernel';
import type { Client } from '../../commands/client.js';
import type { CommandContext } from '../../commands/command.js';
import type { ServerFacts } from '../../commands/server-facts.js';
import { CommonRoom } from '../../common-room.js';
import type { Keyspace } from '../../keyspace.js';
import type { RespSession } from '../../sets.js';
import { RespSessions } from '../resp-sessions.js';
import type { SessionDeps } from '../session-deps.js';

type ToyCommand = (context: CommandContext) => void | Promise<void>;

export interface SessionRigOptions {
  readonly hasPassword?: boolean;
  readonly heldBytesMax?: number;
}

export class SessionRig {
  readonly sessions: RespSessions;
  /** `name{label}` to the sum of what was added, or the last value that was set. */
  readonly metrics = new Map<string, number>();
  readonly ran: string[] = [];
  readonly unwatched: unknown[] = [];
  /** Toys by name; ECHO, SEE, QUIT and REPLY are there. */
  readonly commands: Map<string, ToyCommand>;
  readonly commits = new ToyCommits();
  readonly facts: ServerFacts;

  constructor(clock: Clock, options: SessionRigOptions = {}) {
    const clients = new Map<number, Client>();
    let seen = 0;
    const see: ToyCommand = ({ args, reply }) => {
      seen = Number(args.text(1));
      reply.bulkOf(args, 2);
    };
    this.commands = new Map<string, ToyCommand>([
      ['ECHO', ({ args, reply }) => reply.bulkOf(args, 1)],
      ['SEE', see],
      ['QUIT', quit],
      ['REPLY', ({ args, client, reply }) => setReplies(client, args.text(1), reply)],
    ]);
    const facts: Partial<ServerFacts> = {
      clients,
      idleTimeoutSeconds: 0,
      queueRoom: new CommonRoom(1_000),
      watchRoom: new CommonRoom(1_000),
      checkPassword: options.hasPassword ? () => true : undefined,
    };
    this.facts = facts as ServerFacts;
    const keyspace: Partial<Keyspace> = {
      takeCommitSeen: () => {
        const commit = seen;
        seen = 0;
        return commit;
      },
      unwatch: (watcher) => void this.unwatched.push(watcher),
    };
    const deps: SessionDeps = {
      clock,
      clients,
      facts: this.facts,
      keyspace: keyspace as Keyspace,
      commits: this.commits,
      metrics: this.#metricsPort(),
      dispatch: (context) => {
        const name = context.args.text(0);
        this.ran.push(name);
        const command = this.commands.get(name);
        return command === undefined ? context.reply.error(`ERR ${name}`) : command(context);
      },
    };
    this.sessions = new RespSessions(deps, options);
  }

  connect(): RigConnection {
    return new RigConnection(this.sessions);
  }

  #metricsPort() {
    const key = (name: string, labels = {}) =>
      [name.replace('syncline_sets_', ''), ...Object.values(labels)].join(' ');
    return {
      add: (name: string, amount = 1, labels = {}) => {
        const before = this.metrics.get(key(name, labels)) ?? 0;
        this.metrics.set(key(name, labels), before + amount);
      },
      set: (name: string, value: number) => void this.metrics.set(key(name), value),
      observe: (name: string, value: number) => void this.metrics.set(key(name), value),
    };
  }
}

/** One client: sends text, and reads what has left so far. */
export class RigConnection {
  readonly session: RespSession;
  /** Chunks since the last `read`. */
  chunks: string[] = [];
  isEnded = false;
  isCut = false;
  /** The sink takes nothing more from the next write on. */
  isStopped = false;
  readonly #gone = new AbortController();
  #drain: (() => void) | undefined;

  constructor(sessions: RespSessions) {
    this.session = sessions.connect({
      address: { host: '127.0.0.1', port: 5_000 },
      loopback: true,
      gone: this.#gone.signal,
      cut: () => {
        this.isCut = true;
        this.leave();
      },
    });
    this.session.writeTo({
      write: (chunk) => {
        this.chunks.push(Buffer.from(chunk).toString('latin1'));
        return !this.isStopped;
      },
      drained: () => new Promise((resolve) => (this.#drain = resolve)),
      end: () => (this.isEnded = true),
    });
  }

  /** Inline commands, or any bytes. A promise: the session asks to wait. */
  push(text: string): Promise<void> | undefined {
    return this.session.push(Buffer.from(text, 'latin1'));
  }

  /** The same, whether it asks to wait or not. */
  send(text: string): void {
    void this.push(text);
  }

  read(): string {
    const text = this.chunks.join('');
    this.chunks = [];
    return text;
  }

  /** The client reads again: it takes one chunk, or all from now on. */
  takeMore(howMuch: 'one' | 'all'): void {
    this.isStopped = howMuch === 'one';
    this.#drain?.();
  }

  leave(): void {
    this.#gone.abort();
  }
}

class ToyCommits {
  newest = 0;
  failuresCount = 0;
  lastFailure: SynclineError | undefined;
  readonly #listeners = new Map<number, ((error: SynclineError | undefined) => void)[]>();

  get listenersCount(): number {
    return [...this.#listeners.values()].flat().length;
  }

  whenSettled(commit: number, listener: (error: SynclineError | undefined) => void): void {
    this.#listeners.set(commit, [...(this.#listeners.get(commit) ?? []), listener]);
  }

  settle(commit: number, error?: SynclineError): void {
    const listeners = this.#listeners.get(commit) ?? [];
    this.#listeners.delete(commit);
    if (error !== undefined) {
      this.failuresCount += 1;
      this.lastFailure = error;
    }
    for (const listener of listeners) listener(error);
  }
}

function quit({ client, reply }: CommandContext): void {
  client.endAfterReply();
  reply.simple('OK');
}

function setReplies(
  client: CommandContext['client'],
  mode: string,
  reply: CommandContext['reply'],
): void {
  client.replies = mode === 'OFF' ? 'off' : mode === 'SKIP' ? 'skip-next' : 'on';
  reply.simple('OK');
}
