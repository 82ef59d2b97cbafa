// Sessions with simple test commands, test turns and a sink that can be stopped, for tests of sessions.
import type { Clock, SynclineError } from '@syncline/kernel';
import type { Client } from '../../commands/client.js';
import type { CommandContext } from '../../commands/command.js';
import type { ServerFacts } from '../../commands/server-facts.js';
import type { TurnMember } from '../../engine/turns.js';
import type { Keyspace } from '../../keyspace.js';
import type { RespSession } from '../../sets.js';
import { SharedQuota } from '../../shared-quota.js';
import { RespSessions, type RespSessionsDeps } from '../resp-sessions.js';

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
  /** How many members were fetched ahead at a time. */
  readonly fetched: number[] = [];
  /** Test commands by name, besides ECHO, WRITE, QUIT, PING and REPLY. All but PING use sets. */
  readonly commands: Map<string, ToyCommand>;
  readonly turns: ToyTurns;
  readonly bugs: unknown[] = [];
  readonly facts: ServerFacts;

  constructor(clock: Clock, options: SessionRigOptions = {}) {
    const clients = new Map<number, Client>();
    this.turns = new ToyTurns(clock);
    const write: ToyCommand = ({ args, reply }) => {
      this.turns.hasChanges = true;
      reply.bulkOf(args, 1);
    };
    this.commands = new Map<string, ToyCommand>([
      ['ECHO', ({ args, reply }) => reply.bulkOf(args, 1)],
      ['WRITE', write],
      ['QUIT', quit],
      ['PING', ({ reply }) => reply.simple('PONG')],
      ['REPLY', ({ args, client, reply }) => setReplies(client, args.text(1), reply)],
    ]);
    const facts: Partial<ServerFacts> = {
      clients,
      idleTimeoutSeconds: 0,
      queueQuota: new SharedQuota(1_000),
      watchQuota: new SharedQuota(1_000),
      checkPassword: options.hasPassword ? () => true : undefined,
    };
    this.facts = facts as ServerFacts;
    const keyspace: Partial<Keyspace> = {
      fetch: (_args, _key, { length }) => void this.fetched.push(length),
      endFetch: () => undefined,
      unwatch: (watcher) => void this.unwatched.push(watcher),
    };
    const deps: RespSessionsDeps = {
      clock,
      clients,
      facts: this.facts,
      keyspace: keyspace as Keyspace,
      turns: this.turns,
      onBug: (thrown) => void this.bugs.push(thrown),
      metrics: this.#metricsPort(),
      dispatch: (context: CommandContext) => {
        const name = context.args.text(0);
        this.ran.push(name);
        context.client.hasUsedSets = name !== 'PING';
        const command = this.commands.get(name);
        return command === undefined ? context.reply.error(`ERR ${name}`) : command(context);
      },
    };
    this.sessions = new RespSessions(deps, options);
  }

  connect(): RigConnection {
    return new RigConnection(this.sessions, this.turns);
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

/** One client: sends text, and reads what has been sent so far. */
export class RigConnection {
  readonly session: RespSession;
  /** Chunks since the last `read`. */
  chunks: string[] = [];
  isEnded = false;
  isCut = false;
  /** The sink accepts nothing more from the next write on. */
  isStopped = false;
  readonly #gone = new AbortController();
  #drain: (() => void) | undefined;

  readonly #turns: ToyTurns;

  constructor(sessions: RespSessions, turns: ToyTurns) {
    this.#turns = turns;
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

  /** What has been sent by the end of this turn. */
  read(): string {
    this.#turns.commitNow();
    const text = this.chunks.join('');
    this.chunks = [];
    return text;
  }

  /** The client reads again: one chunk, or everything from now on. */
  takeMore(howMuch: 'one' | 'all'): void {
    this.isStopped = howMuch === 'one';
    this.#drain?.();
  }

  leave(): void {
    this.#gone.abort();
  }
}

/** Turns that end with the clock's, and whose outcome the test decides. */
class ToyTurns {
  hasChanges = false;
  /** Why the next turn with changes is undone. */
  failsWith: SynclineError | undefined;
  /** The log number that replies must wait for; 0: they are sent at once. */
  waitsFor = 0;
  readonly #clock: Clock;
  #members: TurnMember[] = [];
  readonly #waiting = new Set<TurnMember>();
  #isPlanned = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  join(member: TurnMember): void {
    this.#members.push(member);
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    this.#clock.defer(() => {
      this.#isPlanned = false;
      this.commitNow();
    });
  }

  commitNow(): SynclineError | undefined {
    const error = this.hasChanges ? this.failsWith : undefined;
    this.hasChanges = false;
    const members = this.#members;
    this.#members = [];
    for (const member of members) {
      if (this.waitsFor > 0) this.#waiting.add(member);
      member.turnEnded(error, this.waitsFor);
    }
    return error;
  }

  synced(number: number): void {
    for (const member of this.#waiting)
      if (member.turnsSynced(number)) this.#waiting.delete(member);
  }

  failed(error: SynclineError): void {
    for (const member of this.#waiting) member.turnsFailed(error);
    this.#waiting.clear();
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
