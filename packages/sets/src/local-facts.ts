// What commands tell about this server: the facts behind INFO, CONFIG, HELLO and CLIENT.
import type { Clock, Durability, Random } from '@syncline/kernel';
import type { CommandCounts } from './command-counts.js';
import type { Client } from './commands/client.js';
import { PasswordGuard } from './commands/connection/password-guard.js';
import type { InfoCount, ServerFacts } from './commands/server-facts.js';
import { CommonRoom } from './common-room.js';
import { setsLimits } from './limits.js';
import type { SetsOptions } from './sets.js';
import type { SetsEngine } from './sets-engine.js';

const CONNECTIONS_MAX = 10_000;
/** As in Redis. */
const RUN_ID_BYTES = 20;

export interface LocalFactsDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly engine: SetsEngine;
  readonly commandCounts: CommandCounts;
  readonly clients: ReadonlyMap<number, Client>;
  connectionsTotal(): number;
  /** Fires when the server stops. */
  readonly stopping: AbortSignal;
}

export function createLocalFacts(deps: LocalFactsDeps, options: SetsOptions): ServerFacts {
  const { clock, random, engine, commandCounts, clients } = deps;
  const { nodeId, clusterId, password } = options;
  const guard = password === undefined ? undefined : new PasswordGuard({ clock }, { password });
  return {
    clock,
    random,
    nodeId,
    clusterId,
    clients,
    queueRoom: new CommonRoom(setsLimits.queuedBytesMax.value),
    watchRoom: new CommonRoom(setsLimits.watchersMax.value),
    epoch: engine.identity.epoch,
    version: options.version ?? '0.0.0',
    runId: Buffer.from(random.bytes(RUN_ID_BYTES)).toString('hex'),
    startedMonotonicMs: clock.monotonicMs(),
    port: options.port ?? 0,
    connectionsMax: options.connectionsMax ?? CONNECTIONS_MAX,
    idleTimeoutSeconds: 0,
    phase: () => (engine.isClosing ? 'closing' : 'serving'),
    checkPassword: guard && ((client, user, given) => guard.check(client, user, given)),
    counts: () => countsOf(deps),
    durability: () => engine.commits.durability,
    setDurability: (durability: Durability) => engine.setDurability(durability, deps.stopping),
    countCommand: (name) => commandCounts.add(name),
  };
}

function countsOf(deps: LocalFactsDeps): Readonly<Record<InfoCount, number>> {
  const { engine, commandCounts, clients } = deps;
  return {
    memoryBytes: engine.eviction.bytes,
    cacheBytes: engine.eviction.bytes,
    headEntries: engine.state.headEntries,
    liveDots: engine.state.liveDots,
    commands: commandCounts.total,
    connections: clients.size,
    connectionsTotal: deps.connectionsTotal(),
    commits: engine.commits.count,
    folds: engine.folding.batchesCount,
  };
}
