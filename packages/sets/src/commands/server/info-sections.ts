// The sections of INFO, each a list of facts. Names that Redis has mean what they mean there.
import type { CommandContext } from '../command.js';
import { REDIS_VERSION } from '../redis-version.js';
import type { ServerFacts } from '../server-facts.js';
import { formatXor } from '../syncline/format-xor.js';

const SECONDS_PER_DAY = 86_400;
const KIBI = 1_024;

type Facts = readonly (readonly [name: string, value: string | number])[];

/** By the name that INFO is asked with; the title has a capital. */
export const infoSections: Readonly<Record<string, (context: CommandContext) => Facts>> = {
  server: ({ facts }) => [
    ['redis_version', REDIS_VERSION],
    ['redis_mode', 'standalone'],
    ['syncline_version', facts.version],
    ['arch_bits', 64],
    ['run_id', facts.runId],
    ['tcp_port', facts.port],
    ['server_time_usec', Math.floor(facts.clock.nowMs() * 1_000)],
    ['uptime_in_seconds', uptimeSeconds(facts)],
    ['uptime_in_days', Math.floor(uptimeSeconds(facts) / SECONDS_PER_DAY)],
  ],
  clients: ({ facts }) => [
    ['connected_clients', facts.counts().connections],
    ['maxclients', facts.connectionsMax],
    ['blocked_clients', 0],
  ],
  memory: ({ facts }) => [
    ['used_memory', facts.counts().memoryBytes],
    ['used_memory_human', humanBytes(facts.counts().memoryBytes)],
    ['used_memory_dataset', facts.counts().cacheBytes],
    ['maxmemory', 0],
    ['maxmemory_policy', 'noeviction'],
  ],
  persistence: ({ facts }) => [
    ['loading', facts.phase() === 'loading' ? 1 : 0],
    ['async_loading', 0],
    ['aof_enabled', 1],
    ['aof_fsync', facts.durability() === 'synced' ? 'always' : 'everysec'],
    ['commits', facts.counts().commits],
    ['folds', facts.counts().folds],
    ['head_entries', facts.counts().headEntries],
  ],
  stats: ({ facts }) => [
    ['total_connections_received', facts.counts().connectionsTotal],
    ['total_commands_processed', facts.counts().commands],
  ],
  replication: () => [
    ['role', 'master'],
    ['connected_slaves', 0],
  ],
  keyspace: ({ keyspace }) => {
    const sets = keyspace.setsCount();
    return sets === 0 ? [] : [['db0', `keys=${sets},expires=0,avg_ttl=0`]];
  },
  syncline: ({ facts, keyspace }) => {
    const { version, liveDots, xor } = keyspace.digest();
    return [
      ['node', facts.nodeId],
      ['epoch', facts.epoch],
      ['cluster', facts.clusterId],
      ['version', version.toString()],
      ['live_dots', liveDots],
      ['digest', formatXor(xor)],
      ['peers', 0],
    ];
  },
};

function uptimeSeconds({ clock, startedMonotonicMs }: ServerFacts): number {
  return Math.floor((clock.monotonicMs() - startedMonotonicMs) / 1_000);
}

/** As Redis writes it: `1.50M`. */
function humanBytes(bytes: number): string {
  if (bytes < KIBI) return `${bytes}B`;
  const power = Math.min(Math.floor(Math.log(bytes) / Math.log(KIBI)), 4);
  return `${(bytes / KIBI ** power).toFixed(2)}${'BKMGT'[power] ?? ''}`;
}
