// INFO: facts about the server, in sections. Fields that Redis also has mean the same as there; clients wait for
// `loading:0` and read `redis_version`.
import { setsLimits } from '../../limits.js';
import { type CommandContext, commandsIn } from '../command.js';
import { REDIS_VERSION } from '../connection/authentication.js';
import type { PersistenceFacts, ServerFacts } from '../server-facts.js';
import { formatXor } from '../syncline/versions.js';

const SECONDS_PER_DAY = 86_400;
const KIBI = 1_024;

type Facts = readonly (readonly [name: string, value: string | number])[];

/** Keyed by the argument of INFO; the title has a capital letter. */
const sections: Readonly<Record<string, (context: CommandContext) => Facts>> = {
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
    ['blocked_clients', facts.counts().blocked],
  ],
  memory: ({ facts }) => {
    const memory = facts.memory();
    return [
      ['used_memory', memory.usedBytes],
      ['used_memory_human', humanBytes(memory.usedBytes)],
      ['used_memory_rss', memory.rssBytes],
      ['used_memory_rss_human', humanBytes(memory.rssBytes)],
      ['used_memory_peak', memory.peakBytes],
      ['used_memory_peak_human', humanBytes(memory.peakBytes)],
      ['used_memory_overhead', memory.overheadBytes],
      ['used_memory_dataset', memory.datasetBytes],
      ['maxmemory', memory.maxBytes],
      ['maxmemory_human', humanBytes(memory.maxBytes)],
      ['maxmemory_policy', 'noeviction'],
      ['mem_fragmentation_ratio', (memory.rssBytes / Math.max(1, memory.usedBytes)).toFixed(2)],
    ];
  },
  persistence: ({ facts }) => persistenceFacts(facts),
  stats: ({ facts }) => [
    ['total_connections_received', facts.counts().connectionsTotal],
    ['total_commands_processed', facts.counts().commands],
  ],
  replication: ({ facts }) => [
    ['role', 'master'],
    ['connected_slaves', facts.replication?.channel.connectedPeers().length ?? 0],
    ...peerFacts(facts),
  ],
  keyspace: ({ facts, keyspace }) => {
    const sets = isReadable(facts) ? keyspace.setsCount() : 0;
    return sets === 0 ? [] : [['db0', `keys=${sets},expires=0,avg_ttl=0`]];
  },
  syncline: (context) => [
    ['node', context.facts.nodeId],
    ['epoch', context.facts.epoch()],
    ['cluster', context.facts.clusterId],
    ...versionFacts(context),
    ['peers', context.facts.replication?.peers().length ?? 0],
  ],
};

export const info = commandsIn('server')('info', -1, ['loading', 'stale'], {
  wordsMax: setsLimits.askedWordsMax.value,
  syntax: '[section ...]',
  summary: 'Returns information about the server.',
  difference:
    'Sections Server, Clients, Memory, Persistence, Stats, Replication, Keyspace and Syncline, with fewer lines than in Redis. A checkpoint counts as a background save and as a rewrite of the append only file.',
  run(context) {
    const asked = askedSections(context);
    const chosen = Object.keys(sections).filter((title) => asked?.has(title) ?? true);
    context.reply.verbatim(chosen.map((title) => renderSection(title, context)).join('\r\n'));
  },
});

/** Undefined: all of them. */
function askedSections({ args }: CommandContext): ReadonlySet<string> | undefined {
  if (args.length === 1) return undefined;
  const asked = new Set<string>();
  for (let index = 1; index < args.length; index += 1) asked.add(args.text(index).toLowerCase());
  const isAll = ['all', 'everything', 'default'].some((word) => asked.has(word));
  return isAll ? undefined : asked;
}

function renderSection(title: string, context: CommandContext): string {
  const facts = sections[title]?.(context) ?? [];
  const lines = facts.map(([name, value]) => `${name}:${value}\r\n`);
  return `# ${title.charAt(0).toUpperCase()}${title.slice(1)}\r\n${lines.join('')}`;
}

function persistenceFacts(facts: ServerFacts): Facts {
  const persistence = facts.persistence();
  const { loading, isEnabled, checkpoint } = persistence;
  const isRunning = checkpoint.isRunning ? 1 : 0;
  return [
    ['loading', loading === undefined && facts.phase() !== 'loading' ? 0 : 1],
    ['async_loading', 0],
    ['rdb_changes_since_last_save', checkpoint.changesSince],
    ['rdb_bgsave_in_progress', isRunning],
    ['rdb_last_save_time', Math.floor(checkpoint.lastSaveMs / 1_000)],
    ['rdb_last_bgsave_status', checkpoint.lastStatus],
    ['rdb_last_bgsave_time_sec', Math.floor(checkpoint.lastSeconds)],
    ['rdb_current_bgsave_time_sec', isRunning ? Math.floor(checkpoint.currentSeconds) : -1],
    ['aof_enabled', isEnabled ? 1 : 0],
    ['aof_rewrite_in_progress', isRunning],
    ['aof_last_bgrewrite_status', checkpoint.lastStatus],
    ['aof_last_write_status', persistence.lastWriteStatus],
    ...(isEnabled ? logFacts(facts, persistence) : []),
    ...(loading === undefined ? [] : loadingFacts(facts, loading)),
  ];
}

function logFacts(facts: ServerFacts, persistence: PersistenceFacts): Facts {
  return [
    ['aof_current_size', persistence.logBytes],
    ['aof_base_size', persistence.logBaseBytes],
    ['aof_fsync', facts.durability() === 'synced' ? 'always' : 'everysec'],
    ['log_records', persistence.logRecords],
    ['log_unsynced_records', persistence.unsyncedRecords],
  ];
}

function loadingFacts(
  { clock }: ServerFacts,
  { startedMs, loadedBytes, totalBytes }: NonNullable<PersistenceFacts['loading']>,
): Facts {
  const elapsedSeconds = Math.max(0, clock.nowMs() - startedMs) / 1_000;
  const bytesLeft = Math.max(0, totalBytes - loadedBytes);
  const etaSeconds = loadedBytes === 0 ? 1 : (elapsedSeconds * bytesLeft) / loadedBytes;
  return [
    ['loading_start_time', Math.floor(startedMs / 1_000)],
    ['loading_total_bytes', totalBytes],
    ['loading_loaded_bytes', loadedBytes],
    ['loading_loaded_perc', ((loadedBytes * 100) / Math.max(1, totalBytes)).toFixed(2)],
    ['loading_eta_seconds', Math.ceil(etaSeconds)],
  ];
}

/** Only what commands may read: a version that is not durable must not be shown. */
function versionFacts({ facts, keyspace }: CommandContext): Facts {
  if (!isReadable(facts)) return [];
  const { version, liveDots, xor } = keyspace.digest();
  return [
    ['version', version.toString()],
    ['live_dots', liveDots],
    ['digest', formatXor(xor)],
  ];
}

/** All peers are equal; Redis's tools expect them to be listed as slaves. */
function peerFacts({ replication }: ServerFacts): Facts {
  const peers = replication?.peers() ?? [];
  const pulls = replication?.pulls.counts ?? [];
  return peers.map((peer, index) => {
    const pulled = pulls.find((each) => each.peer === peer.nodeId);
    const facts = {
      id: peer.nodeId,
      address: peer.address,
      state: peer.state,
      silent_ms: Math.round(peer.silentMs ?? -1),
      lag_operations: peer.lagOperations,
      lag_ms: Math.round(peer.lagMs),
      unacked: peer.unackedOperations,
      pending: peer.pendingOperations,
      retries: peer.retries,
      reconnects: peer.reconnects,
      pulls: pulled?.count ?? 0,
      pull_bytes: pulled?.bytes ?? 0,
      pull_added: pulled?.added ?? 0,
      pull_dropped: pulled?.dropped ?? 0,
    };
    const text = Object.entries(facts).map(([name, value]) => `${name}=${value}`);
    return [`peer${index}`, text.join(',')] as const;
  });
}

function isReadable(facts: ServerFacts): boolean {
  const phase = facts.phase();
  return phase === 'serving' || phase === 'closing';
}

function uptimeSeconds({ clock, startedMonotonicMs }: ServerFacts): number {
  return Math.floor((clock.monotonicMs() - startedMonotonicMs) / 1_000);
}

/** As Redis writes it: `1.50M`. */
function humanBytes(bytes: number): string {
  if (bytes < KIBI) return `${bytes}B`;
  const power = Math.min(Math.floor(Math.log(bytes) / Math.log(KIBI)), 4);
  return `${(bytes / KIBI ** power).toFixed(2)}${'BKMGT'[power] ?? ''}`;
}
