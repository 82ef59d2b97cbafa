export {
  type EmbeddedState,
  type EmbeddedStateDeps,
  type EmbeddedStateOptions,
  embeddedState,
} from './embedded/embedded-state.js';
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
