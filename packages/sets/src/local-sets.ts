// Opens the sets of one node, and provides the library's interface and the RESP sessions on top of the engine.
import { type Durability, SynclineError, type VersionVector } from '@syncline/kernel';
import { ByteList } from './byte-list.js';
import { CommandCounts } from './command-counts.js';
import type { Client } from './commands/client.js';
import { createCommandTable } from './commands/command-table.js';
import { PasswordGuard } from './commands/connection/authentication.js';
import { createDispatch } from './commands/dispatch.js';
import { changeInParts, withGate } from './commands/long-work.js';
import type { ServerFacts } from './commands/server-facts.js';
import { SetsEngine } from './engine/engine.js';
import type { Digest, ScanFrom, WriteHold } from './keyspace.js';
import { setsLimits } from './limits.js';
import { RespSessions } from './resp/resp-sessions.js';
import type {
  RespPeer,
  RespSession,
  ScannedMembers,
  ScannedSets,
  Sets,
  SetsDeps,
  SetsOptions,
  SetsStatus,
} from './sets.js';
import { SharedQuota } from './shared-quota.js';

const CONNECTIONS_MAX = 10_000;
const RUN_ID_BYTES = 20;

/** Rejects with `conflict` when the data belongs to another node or cluster, with `corrupt` when it is damaged. */
export async function openSets(deps: SetsDeps, options: SetsOptions): Promise<Sets> {
  const { durability = 'buffered', memoryBytesMax = 0 } = options;
  const engine = new SetsEngine(deps, { ...options, durability, memoryBytesMax });
  await engine.open();
  const sets = new LocalSets(deps, options, engine);
  if (options.serveWhileLoading !== true) await sets.loaded;
  return sets;
}

class LocalSets implements Sets {
  readonly loaded: Promise<void>;
  readonly #engine: SetsEngine;
  readonly #sessions: RespSessions;
  readonly #clients = new Map<number, Client>();
  readonly #commandCounts: CommandCounts;
  readonly #blocked = new SharedQuota(setsLimits.waitingCommandsMax.value);
  #closing: Promise<void> | undefined;

  constructor(deps: SetsDeps, options: SetsOptions, engine: SetsEngine) {
    this.#engine = engine;
    this.#commandCounts = new CommandCounts(deps);
    const { keyspace, turns } = engine;
    this.#sessions = new RespSessions({
      ...deps,
      keyspace,
      turns,
      clients: this.#clients,
      facts: this.#facts(deps, options),
      dispatch: createDispatch(createCommandTable(deps)),
      onBug: deps.onBug?.bind(deps) ?? rethrow,
    });
    this.loaded = engine.load();
    this.loaded.catch(() => undefined); // callers that await it get the error
  }

  add(set: Uint8Array, members: readonly Uint8Array[]): Promise<number> {
    return this.#change('add', listOf(set, members));
  }

  remove(set: Uint8Array, members: readonly Uint8Array[]): Promise<number> {
    return this.#change('remove', listOf(set, members));
  }

  has(set: Uint8Array, member: Uint8Array): boolean {
    return this.#engine.keyspace.has(ByteList.of(set, member), 0, 1);
  }

  cardinality(set: Uint8Array): number {
    return this.#engine.keyspace.cardinality(ByteList.of(set), 0);
  }

  async *members(set: Uint8Array, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
    await this.#engine.keyspace.whenWhole();
    using pin = this.#engine.keyspace.openPin([set]);
    for await (const batch of pin.members(set)) {
      signal?.throwIfAborted();
      yield* batch;
    }
  }

  scanSets(from: ScanFrom): ScannedSets {
    const names: Uint8Array[] = [];
    const { keyspace } = this.#engine;
    const next = keyspace.scanNames(from, (buffer, start, end) => {
      names.push(buffer.slice(start, end));
    });
    const list = ByteList.from(names);
    const sets = names.map((name, at) => ({ name, cardinality: keyspace.cardinality(list, at) }));
    return { sets, next };
  }

  scanMembers(set: Uint8Array, from: ScanFrom): ScannedMembers {
    const members: Uint8Array[] = [];
    const next = this.#engine.keyspace.scan(ByteList.of(set), 0, from, (buffer, start, end) => {
      members.push(buffer.slice(start, end));
    });
    return { members, next };
  }

  version(): VersionVector {
    return this.#engine.keyspace.version();
  }

  digest(): Digest {
    return this.#engine.keyspace.digest();
  }

  settled(): Promise<void> {
    return this.#engine.turns.settled();
  }

  connect(peer: RespPeer): RespSession {
    return this.#sessions.connect(peer);
  }

  status(): SetsStatus {
    const { state, log, checkpoints, epoch } = this.#engine;
    return {
      ...this.#health(),
      epoch,
      sets: state.sets.filledCount,
      liveDots: state.digest.liveDots,
      memoryBytes: state.usedBytes,
      logBytes: log?.bytes ?? 0,
      checkpoint: {
        bytes: checkpoints?.last.bytes ?? 0,
        takenMs: checkpoints?.last.takenMs ?? 0,
        isRunning: checkpoints?.facts().isRunning ?? false,
      },
      connections: this.#clients.size,
      replication: replicationOf(this.#engine),
    };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    if (this.#engine.phase === 'loading') {
      this.#engine.abandonLoad();
      await this.loaded.catch(() => undefined);
    }
    const stopped = this.#engine.stop();
    this.#sessions.close();
    await stopped;
    this.#commandCounts.flush();
  }

  async #change(kind: 'add' | 'remove', list: ByteList): Promise<number> {
    if (this.#engine.phase === 'loading') await this.loaded;
    const { keyspace, turns } = this.#engine;
    const admitted = keyspace.admitWrite();
    if (admitted !== undefined) await admitted;
    try {
      const changed = keyspace[kind](list, 0, 1);
      await turns.settled();
      return changed;
    } catch (thrown) {
      const isTooLarge = thrown instanceof SynclineError && thrown.code === 'limit-exceeded';
      if (!isTooLarge) throw thrown;
    }
    // Larger than one operation: several of them, which may be visible half done.
    const { signal } = new AbortController();
    const change = (hold: WriteHold) => changeInParts({ args: list, keyspace }, 0, kind, hold);
    const changed = await withGate(keyspace, signal, change);
    await turns.settled();
    return changed;
  }

  #health(): Pick<SetsStatus, 'health' | 'reason'> {
    const { failure, fullBy, phase, progress } = this.#engine;
    if (failure !== undefined) return { health: 'failed', reason: failure.message };
    if (phase === 'loading') {
      if (progress === undefined && this.#engine.isLoadingFromPeer)
        return { health: 'loading', reason: 'loading the sets from a peer' };
      const { loadedBytes = 0, totalBytes = 0 } = progress ?? {};
      const percent = totalBytes === 0 ? 0 : Math.floor((100 * loadedBytes) / totalBytes);
      return { health: 'loading', reason: `loading the sets, ${percent}% read` };
    }
    if (fullBy !== undefined) return { health: 'full', reason: fullBy.message };
    return { health: 'ready', reason: undefined };
  }

  #facts(deps: SetsDeps, options: SetsOptions): ServerFacts {
    const { clock, random } = deps;
    const { nodeId, clusterId, password, limits } = options;
    const engine = this.#engine;
    const guard = password === undefined ? undefined : new PasswordGuard(clock, password);
    return {
      clock,
      random,
      nodeId,
      clusterId,
      clients: this.#clients,
      queueQuota: new SharedQuota(setsLimits.queuedBytesMax.value),
      watchQuota: new SharedQuota(setsLimits.watchersMax.value),
      blockedQuota: this.#blocked,
      version: options.version ?? '0.0.0',
      runId: Buffer.from(random.bytes(RUN_ID_BYTES)).toString('hex'),
      startedMonotonicMs: clock.monotonicMs(),
      port: options.port ?? 0,
      connectionsMax: options.connectionsMax ?? CONNECTIONS_MAX,
      idleTimeoutSeconds: 0,
      turnMembersMax: limits?.turnMembersMax ?? setsLimits.turnMembersMax.value,
      epoch: () => engine.epoch,
      phase: () => engine.phase,
      failure: () => engine.failure,
      replication: engine.replica,
      checkPassword: guard && ((client, user, given) => guard.check(client, user, given)),
      counts: () => ({
        commands: this.#commandCounts.total,
        connections: this.#clients.size,
        connectionsTotal: this.#sessions.connectionsTotal,
        liveDots: engine.state.digest.liveDots,
        blocked: this.#blocked.used,
      }),
      memory: () => memoryOf(engine, deps.processBytes?.() ?? 0),
      isOutOfMemory: () => engine.isOutOfMemory,
      setMemoryMax: (bytes) => {
        engine.memoryBytesMax = bytes;
      },
      persistence: () => persistenceOf(engine),
      startCheckpoint: () => {
        if (engine.checkpoints === undefined) return 'nothing-to-write-to';
        if (engine.failure !== undefined) return 'failed';
        if (engine.phase === 'closing') return 'closing';
        return engine.checkpoints.start() ? 'started' : 'running';
      },
      durability: () => engine.turns.durability,
      setDurability: (durability: Durability) => {
        engine.turns.durability = durability;
      },
      countCommand: (name) => this.#commandCounts.add(name),
    };
  }
}

function replicationOf({ replica }: SetsEngine): SetsStatus['replication'] {
  if (replica === undefined) return undefined;
  const { isCaughtUp, pulls } = replica;
  const { divergedPeers, failure: pullFailure, counts } = pulls;
  return { isCaughtUp, divergedPeers, pullFailure, peers: replica.peers(), pulls: counts };
}

function memoryOf(engine: SetsEngine, rssBytes: number): ReturnType<ServerFacts['memory']> {
  const { heap, sets, usedBytes } = engine.state;
  return {
    usedBytes,
    datasetBytes: heap.usedBytes,
    overheadBytes: sets.overheadBytes + engine.state.pins.bytes,
    peakBytes: engine.gauges.peakBytes,
    rssBytes,
    maxBytes: engine.memoryBytesMax,
  };
}

function persistenceOf(engine: SetsEngine): ReturnType<ServerFacts['persistence']> {
  const { log, checkpoints, failure, fullBy, progress } = engine;
  const never = {
    isRunning: false,
    currentSeconds: -1,
    lastSaveMs: 0,
    lastSeconds: -1,
    lastStatus: 'ok' as const,
    changesSince: 0,
  };
  return {
    loading: progress,
    isEnabled: log !== undefined,
    logBytes: log?.bytes ?? 0,
    logBaseBytes: checkpoints?.last.bytes ?? 0,
    logRecords: log === undefined ? 0 : log.nextNumber - log.firstNumber,
    unsyncedRecords: log === undefined ? 0 : log.nextNumber - 1 - log.syncedThrough,
    lastWriteStatus: fullBy === undefined && failure === undefined ? 'ok' : 'err',
    checkpoint: checkpoints?.facts() ?? never,
  };
}

function rethrow(thrown: unknown): void {
  queueMicrotask(() => {
    throw thrown;
  });
}

/** The set, then its members. */
function listOf(set: Uint8Array, members: readonly Uint8Array[]): ByteList {
  checkSize(set, setsLimits.keyBytesMax.value, 'set');
  for (const member of members) checkSize(member, setsLimits.memberBytesMax.value, 'member');
  return ByteList.from([set, ...members]);
}

function checkSize(bytes: Uint8Array, bytesMax: number, field: string): void {
  if (bytes.length <= bytesMax) return;
  throw new SynclineError(
    'invalid-argument',
    `the ${field} has ${bytes.length} bytes, at most ${bytesMax} are allowed`,
    { details: { field } },
  );
}
