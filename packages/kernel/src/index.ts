// The entry point `@syncline/kernel`: loads no Node module, so that it also runs in browsers and workers.
export { AssertionError, assert, unreachable } from './assert.js';
export { type BackoffOptions, backoffMs, type RetryOptions, retry } from './backoff.js';
export { BoundedQueue, type BoundedQueueOptions } from './bounded-queue.js';
export { type Chaos, noChaos } from './chaos.js';
export type { Clock, Timer } from './clock.js';
export {
  abortedError,
  ERROR_CODES,
  type ErrorCode,
  isErrorCode,
  type Outcome,
  SynclineError,
  type SynclineErrorOptions,
} from './error.js';
export { Feed, type FeedDeps, type FeedOptions, type FeedSubscribeOptions } from './feed/feed.js';
export type {
  FeedChange,
  FeedEvent,
  FeedGap,
  FeedPosition,
  FeedStale,
} from './feed/feed-event.js';
export type { FeedPresenter } from './feed/feed-presenter.js';
export type { FeedStore, FeedView } from './feed/feed-store.js';
export type { FeedSubscription } from './feed/feed-subscription.js';
export type { BufferRoom, FeedOverflow } from './feed/live-buffer.js';
export { MemoryFeedStore, type MemoryFeedStoreOptions } from './feed/memory-feed-store.js';
export type { AppendHandle, FileStat, Files } from './files/files.js';
export { type HalfSipKey, halfSipHash13, halfSipKey } from './hash/half-sip-hash.js';
export { hmacSha256 } from './hash/hmac-sha256.js';
export { fmix32, murmur3x64x128, murmur3x86x32 } from './hash/murmur3.js';
export {
  type ActorId,
  actorId,
  EPOCH_MAX,
  epochOf,
  formatActor,
  NODE_ID_MAX,
  nodeOf,
} from './identity/actor-id.js';
export {
  compareDots,
  DOT_BYTES,
  type Dot,
  dot,
  formatDot,
  readDot,
  writeDot,
} from './identity/dot.js';
export { VersionVector } from './identity/version-vector.js';
export { KeyedQueue } from './keyed-queue.js';
export { Lifecycle, type LifecycleDeps, type LifecyclePart, type StopReport } from './lifecycle.js';
export { defineLimits, type Limit } from './limit.js';
export { kernelLimits } from './limits.js';
export { createWarningLogger, type LogFields, type Logger, silentLogger } from './logger.js';
export {
  type Labels,
  type MetricDefinition,
  type MetricDefinitions,
  type MetricKind,
  type Metrics,
  silentMetrics,
} from './metrics.js';
export {
  nearestName,
  type OptionNames,
  refuseUnknownOptions,
  suggestion,
} from './nearest-name.js';
export { formatAddress } from './network/address.js';
export { checkTokenIsSafe, isTokenSafe, tokenFlaw } from './network/bearer-token.js';
export type {
  Address,
  ChunkReader,
  CloseReason,
  Connection,
  Listener,
  Network,
} from './network/network.js';
export { CLIENT_TRUST, certificateProblem, type TrustOptions } from './network/network-error.js';
export {
  type ClientTls,
  createHttpReports,
  type HttpReportOptions,
  type HttpReports,
} from './network/system-http-reports.js';
export { type Random, randomBelow } from './random.js';
export { createMemoryStorage, type MemoryStorageDeps } from './storage/memory-storage.js';
export { type DamagedEntry, readSound, type SoundEntries } from './storage/sound-range.js';
export type {
  Durability,
  RangeOptions,
  Storage,
  StorageEntry,
  StorageHealth,
  StorageRange,
  StorageReads,
  StorageSnapshot,
} from './storage/storage.js';
export { StorageBatch, type StorageOperation } from './storage/storage-batch.js';
export { createSystemClock } from './system-clock.js';
export { createSystemRandom } from './system-random.js';
