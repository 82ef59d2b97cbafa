// Opens the sets of one node: the engine, and the RESP sessions and facts in front of it.
import type { StorageHealth } from '@syncline/kernel';
import { CommandCounts } from './command-counts.js';
import type { Client } from './commands/client.js';
import { createDispatch } from './commands/dispatch.js';
import { createLocalFacts } from './local-facts.js';
import { LocalSets } from './local-sets.js';
import { openEngine } from './open-engine.js';
import { RespSessions } from './resp/resp-sessions.js';
import type { Sets, SetsDeps, SetsOptions, SetsStatus } from './sets.js';
import type { SetsEngine } from './sets-engine.js';

/**
 * The storage stays the caller's: close it after the sets. Rejects with `conflict` when the data belongs
 * to another node or cluster, and with `corrupt` when it cannot be read.
 */
export async function openSets(deps: SetsDeps, options: SetsOptions): Promise<Sets> {
  return serve(deps, options, await openEngine(deps, options));
}

function serve(deps: SetsDeps, options: SetsOptions, engine: SetsEngine): Sets {
  const { clock, metrics, storage } = deps;
  const stopping = new AbortController();
  const clients = new Map<number, Client>();
  const commandCounts = new CommandCounts({ clock, metrics });
  const facts = createLocalFacts(
    {
      ...deps,
      engine,
      commandCounts,
      clients,
      stopping: stopping.signal,
      connectionsTotal: () => sessions.connectionsTotal,
    },
    options,
  );
  const sessions: RespSessions = new RespSessions({
    clock,
    metrics,
    clients,
    facts,
    keyspace: engine.keyspace,
    commits: engine.commits,
    dispatch: createDispatch({ metrics }),
  });
  return new LocalSets({
    engine,
    connect: (peer) => sessions.connect(peer),
    status: () => ({ ...healthOf(engine, storage.health()), ...statusOf(engine, clients.size) }),
    close: async () => {
      const stopped = engine.stop(); // first: who waits for the gate is told that the server stops
      stopping.abort();
      sessions.close();
      await stopped;
      commandCounts.flush();
    },
  });
}

function healthOf(
  { failure }: SetsEngine,
  health: StorageHealth,
): Pick<SetsStatus, 'health' | 'reason'> {
  if (failure !== undefined) return { health: 'failed', reason: failure.message };
  switch (health.kind) {
    case 'ok':
    case 'reopening':
      return { health: 'ready', reason: undefined };
    case 'full':
    case 'failed':
      return { health: health.kind, reason: health.reason };
    case 'closed':
      return { health: 'failed', reason: 'the storage is closed' };
  }
}

function statusOf(engine: SetsEngine, connections: number): Omit<SetsStatus, 'health' | 'reason'> {
  const { state } = engine;
  return {
    epoch: engine.identity.epoch,
    sets: state.setsCount,
    liveDots: state.liveDots,
    headEntries: state.headEntries,
    cacheBytes: engine.eviction.bytes,
    connections,
  };
}
