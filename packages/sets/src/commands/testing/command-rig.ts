// Runs commands over the plain keyspace, as one client sends them, for tests of commands.
import { type Clock, type SynclineError, silentMetrics } from '@syncline/kernel';
import { createSeededRandom } from '@syncline/kernel/testing';
import { ByteList } from '../../byte-list.js';
import { setsLimits } from '../../limits.js';
import { SharedQuota } from '../../shared-quota.js';
import { PlainKeyspace } from '../../testing/plain-keyspace.js';
import { RecordedReply, type ReplyValue } from '../../testing/recorded-reply.js';
import { Client } from '../client.js';
import type { Command, CommandContext, CommandFinder, QueuedCommand } from '../command.js';
import { createCommandTable } from '../command-table.js';
import { createDispatch, type Dispatch } from '../dispatch.js';
import type { MemoryFacts, PersistenceFacts, ServerFacts } from '../server-facts.js';

/** Everything that a test may want to set. */
export interface RigState {
  phase: ReturnType<ServerFacts['phase']>;
  failure: SynclineError | undefined;
  isOutOfMemory: boolean;
  memory: MemoryFacts;
  persistence: PersistenceFacts;
  checkpoint: ReturnType<ServerFacts['startCheckpoint']>;
  durability: ReturnType<ServerFacts['durability']>;
  replication: ServerFacts['replication'];
}

export interface CommandRigOptions {
  readonly keyspace?: PlainKeyspace;
  readonly table?: CommandFinder;
  readonly clock?: Clock;
}

export class CommandRig {
  readonly keyspace: PlainKeyspace;
  readonly reply = new RecordedReply();
  readonly table: CommandFinder;
  readonly gone = new AbortController();
  readonly client: Client<QueuedCommand>;
  readonly state: RigState = initialState();
  /** Names of the commands that ran. */
  readonly counted: string[] = [];
  cuts = 0;
  readonly facts: ServerFacts;
  readonly #dispatch: Dispatch;

  constructor(options: CommandRigOptions = {}) {
    this.keyspace = options.keyspace ?? new PlainKeyspace({ random: createSeededRandom(1) });
    this.table = options.table ?? createCommandTable({ metrics: silentMetrics });
    this.client = this.#createClient();
    this.gone.signal.addEventListener('abort', () => this.client.stopReads());
    this.facts = this.#createFacts(options.clock ?? stoppedClock);
    this.#dispatch = createDispatch(this.table);
  }

  /** Returns the reply; undefined if there is none. */
  async send(...words: readonly string[]): Promise<ReplyValue | undefined> {
    await this.#dispatch(this.context(words));
    return this.reply.values[0];
  }

  /** The text of a reply that has one. */
  async text(...words: readonly string[]): Promise<string> {
    const value = await this.send(...words);
    return value !== undefined && 'text' in value ? value.text : '';
  }

  /** For running a command without the dispatch. */
  context(words: readonly string[]): CommandContext {
    const { reply, keyspace, client, facts } = this;
    reply.values.length = 0;
    const args = ByteList.from(words.map((word) => Buffer.from(word, 'latin1')));
    return { args, reply, keyspace, client, facts };
  }

  /** The command of this name, without its subcommands. */
  command(name: string): Command {
    const known = this.table.find(wordsOf(name), 0);
    if (known === undefined) throw new Error(`no command ${name}`);
    return known.command;
  }

  #createClient(): Client<QueuedCommand> {
    const cut = () => {
      this.cuts += 1;
    };
    const address = { host: '127.0.0.1', port: 1 };
    return new Client(
      { address, gone: this.gone.signal, endAfterReply: () => {}, cut },
      { id: 1, nowMs: 0, isAuthenticated: true },
    );
  }

  #createFacts(clock: Clock): ServerFacts {
    const { state, client } = this;
    const quota = (limit: 'queuedBytesMax' | 'watchersMax' | 'waitingCommandsMax') =>
      new SharedQuota(setsLimits[limit].value);
    return {
      clock,
      random: createSeededRandom(2),
      version: '1.2.3',
      runId: '0'.repeat(40),
      startedMonotonicMs: 0,
      nodeId: 1,
      clusterId: 'test',
      port: 7402,
      connectionsMax: 10_000,
      epoch: () => 0,
      phase: () => state.phase,
      failure: () => state.failure,
      clients: new Map([[client.id, client]]),
      queueQuota: quota('queuedBytesMax'),
      watchQuota: quota('watchersMax'),
      blockedQuota: quota('waitingCommandsMax'),
      checkPassword: undefined,
      get replication() {
        return state.replication;
      },
      counts: () => ({ commands: 0, connections: 1, connectionsTotal: 1, liveDots: 0, blocked: 0 }),
      memory: () => state.memory,
      isOutOfMemory: () => state.isOutOfMemory,
      setMemoryMax: (maxBytes) => {
        state.memory = { ...state.memory, maxBytes };
      },
      persistence: () => state.persistence,
      startCheckpoint: () => state.checkpoint,
      durability: () => state.durability,
      setDurability: (durability) => {
        state.durability = durability;
      },
      idleTimeoutSeconds: 0,
      countCommand: (name) => void this.counted.push(name),
    };
  }
}

export function wordsOf(...words: readonly string[]): ByteList {
  return ByteList.from(words.map((word) => Buffer.from(word, 'latin1')));
}

/** Always 2023-11-14 22:13:20 and half a second. */
const stoppedClock: Clock = {
  nowMs: () => 1_700_000_000_500,
  monotonicMs: () => 0,
  sleep: () => new Promise(() => {}),
  setTimer: () => ({ cancel: () => {} }),
  defer: () => ({ cancel: () => {} }),
};

function initialState(): RigState {
  return {
    phase: 'serving',
    failure: undefined,
    isOutOfMemory: false,
    memory: {
      usedBytes: 2_048,
      datasetBytes: 1_024,
      overheadBytes: 1_024,
      peakBytes: 4_096,
      rssBytes: 6_144,
      maxBytes: 0,
    },
    persistence: {
      loading: undefined,
      isEnabled: true,
      logBytes: 100,
      logBaseBytes: 50,
      logRecords: 7,
      unsyncedRecords: 2,
      lastWriteStatus: 'ok',
      checkpoint: {
        isRunning: false,
        currentSeconds: 0,
        lastSaveMs: 1_600_000_000_900,
        lastSeconds: 3.7,
        lastStatus: 'ok',
        changesSince: 5,
      },
    },
    checkpoint: 'started',
    durability: 'buffered',
    replication: undefined,
  };
}
