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
export { type FileSinkOptions, fileSink } from './ends/file-sink.js';
export { type JsonlSourceOptions, jsonlSource } from './ends/jsonl-source.js';
export type { JsonlPosition } from './ends/line-cursor.js';
export { type MemorySourceOptions, memorySource } from './ends/memory-source.js';
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
export { type StreamsMetrics, streamsMetrics } from './metrics-list.js';
export {
  type DedupeDefinition,
  definePipeline,
  type KeyedOperatorOptions,
  type KeyedStream,
  type OperatorOptions,
  type Pipeline,
  type PipelineBuilder,
  type ProcessDefinition,
  type ReduceDefinition,
  type ReorderDefinition,
  type SinkFor,
  type Stream,
  type WindowDefinition,
} from './pipeline/define.js';
export type { SourceOptions } from './pipeline/graph.js';
export type {
  KeyedAggregate,
  KeyedStateOf,
  KeyedStates,
  KeyedVersioned,
  ProcessContext,
  StateDescriptions,
} from './pipeline/process.js';
export { type Tumbling, tumbling, type WindowOf } from './pipeline/window.js';
export type { CheckpointInfo } from './run/checkpoint.js';
export {
  type PipelineProgress,
  type ProgressOutput,
  type ProgressReporter,
  terminalProgress,
} from './run/progress.js';
export type { PipelineRun } from './run/run.js';
export type { RunState } from './run/run-state.js';
export { type StartDeps, type StartOptions, start } from './run/start.js';
export { type ServerProgressOptions, serverProgress } from './server-progress.js';
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
export {
  findPipelines,
  type InspectDeps,
  type InspectedState,
  type Inspection,
  type InspectOptions,
  inspectDirectory,
} from './store/inspect.js';
