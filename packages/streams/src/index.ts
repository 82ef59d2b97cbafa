export {
  type EmbeddedState,
  type EmbeddedStateDeps,
  type EmbeddedStateOptions,
  embeddedState,
} from './embedded/embedded-state.js';
export {
  type CallbackContext,
  type CallbackSinkOptions,
  callbackSink,
  createDeduplicator,
  type Deduplicator,
  type DeduplicatorOptions,
} from './ends/callback-sink.js';
export type {
  CommitResult,
  Fence,
  OutboxPart,
  OutboxRow,
  OutboxSink,
  Output,
  Sink,
  SinkContract,
  SinkMark,
} from './ends/sink.js';
export type { BadItem, EndPorts, Json, Source, SourceBatch } from './ends/source.js';
export {
  type MemoryTarget,
  type MemoryTransaction,
  memoryTarget,
  type TransactionMark,
  type TransactionSinkOptions,
  type TransactionTarget,
  transactionSink,
} from './ends/transaction-sink.js';
export { streamsLimits } from './limits.js';
export {
  type MemoryStateDeps,
  type MemoryStateOptions,
  memoryState,
} from './memory/memory-state.js';
export { bigintCodec, bytesCodec, type Codec, numberCodec, stringCodec } from './state/codec.js';
export { jsonCodec } from './state/json-codec.js';
export type { Key } from './state/key.js';
export {
  type AggregateBackend,
  type AggregateDescription,
  aggregate,
  type BackendOf,
  type PutResult,
  type Snapshots,
  type StateBackend,
  type StateDescription,
  type StateStore,
  type VersionedDescription,
  versioned,
} from './state/state-backend.js';
export type { LogicalTime, Version, VersionKind, VersionOf } from './state/version.js';
