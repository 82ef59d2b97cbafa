export { absentCommands } from './commands/absent-commands.js';
export { type CommandDescription, describeCommands } from './commands/command-table.js';
export { errorPrefixes } from './commands/errors.js';
export type { Digest } from './keyspace.js';
export { setsLimits } from './limits.js';
export { openSets } from './local-sets.js';
export { setsMetrics } from './metrics-list.js';
export { protocolFailures } from './resp/protocol-failure.js';
export type {
  PullCounts,
  PullReport,
  ReplicationStatus,
  RespPeer,
  RespSession,
  RespSink,
  ScannedMembers,
  ScannedSets,
  Sets,
  SetsDeps,
  SetsOptions,
  SetsStatus,
} from './sets.js';
