// The public interface of keyed state: how states are described, and the operations on them.
//
// A **versioned** state holds the newest value of each key by an explicit version, so applying an update twice, or
// late, is harmless. An **aggregate** holds counts and sums, whose updates cannot be distinguished; it is exact because
// state and input positions are restored together. Values belong to the state once they are passed to it: do not modify
// them afterwards, and let `update` return a new value.
import type { Codec } from './codec.js';
import type { Key } from './key.js';
import {
  noVersions,
  type Version,
  type VersionKind,
  type VersionOf,
  type VersionType,
  versionsOf,
} from './version.js';

export interface AggregateDescription<V> {
  readonly kind: 'aggregate';
  readonly codec: Codec<V>;
  readonly versions: VersionType<undefined>;
  readonly migrateFrom?: readonly Codec<V>[];
}

export interface VersionedDescription<V, Ver extends Version> {
  readonly kind: 'versioned';
  readonly codec: Codec<V>;
  readonly versions: VersionType<Ver>;
  readonly migrateFrom?: readonly Codec<V>[];
}

export type StateDescription =
  | AggregateDescription<unknown>
  | VersionedDescription<unknown, Version>;

export interface StateOptions<V> {
  /** In a pipeline: codecs that may have written the stored state. It is then rewritten with the new codec. */
  readonly migrateFrom?: readonly Codec<V>[];
}

/** Describes a state of counts, sums and the like. */
export function aggregate<V>(
  codec: Codec<V>,
  options: StateOptions<V> = {},
): AggregateDescription<V> {
  return { kind: 'aggregate', codec, versions: noVersions, ...options };
}

/** Describes a state that keeps the newest value of each key. */
export function versioned<V, Kind extends VersionKind>(
  codec: Codec<V>,
  versionKind: Kind,
  options: StateOptions<V> = {},
): VersionedDescription<V, VersionOf<Kind>> {
  return { kind: 'versioned', codec, versions: versionsOf(versionKind), ...options };
}

/**
 * `applied`: the update was newer. `same`: the state already has this value at this version. `older`: the state has a
 * newer version. The last two change nothing.
 */
export type PutResult = 'applied' | 'same' | 'older';

export interface StateBackend<K extends Key, V, Ver extends Version> extends Snapshots<K> {
  /** Throws `version-conflict` and changes nothing if the state has a different value at the same version. */
  put(key: K, value: V, version: Ver): PutResult;
  /** Leaves a tombstone, so that older values that arrive later are still recognized as older. */
  delete(key: K, version: Ver): PutResult;
  get(key: K): { readonly value: V; readonly version: Ver } | undefined;
  /**
   * Drops the tombstones of versions up to `through` and returns their number. Only call it if no older updates will
   * arrive: they would be applied.
   */
  prune(through: Ver): number;
}

export interface AggregateBackend<K extends Key, V> extends Snapshots<K> {
  /**
   * Replaces the value with the result of `fn`, and returns it. `undefined` removes the key. If `fn` throws, nothing
   * changes. `fn` must not access this state itself.
   */
  update(key: K, fn: (value: V | undefined) => V | undefined): V | undefined;
  get(key: K): V | undefined;
}

export interface Snapshots<K extends Key> {
  /** The content at the time of the call. Equal states give equal bytes, regardless of their history. */
  snapshot(): Promise<Uint8Array>;
  /** The same for some keys. Missing keys are omitted. The state does not change. */
  snapshotForKeys(keys: Iterable<K>): Promise<Uint8Array>;
  /**
   * Replaces everything with the snapshot, or changes nothing and throws `corrupt`, `too-new` or
   * `incompatible`. Do not write to the state until it has settled.
   */
  restore(bytes: Uint8Array): Promise<void>;
  /**
   * Merges the snapshot atomically: into a versioned state as if each entry were put, into an aggregate only if none of
   * the keys exist yet (otherwise it throws `version-conflict`).
   */
  restoreKeys(bytes: Uint8Array): Promise<void>;
}

/** The backend type for a description. */
export type BackendOf<Description> =
  Description extends AggregateDescription<infer V>
    ? AggregateBackend<Key, V>
    : Description extends VersionedDescription<infer V, infer Ver>
      ? StateBackend<Key, V, Ver>
      : never;

/** Where states are kept: `memoryState()` or `embeddedState(storage)`. */
export interface StateStore {
  /** `uid` identifies the state: a lowercase letter, then up to 62 characters of `a-z`, `0-9` and `-`. */
  open<Description extends StateDescription>(
    uid: string,
    description: Description,
  ): Promise<BackendOf<Description>>;
}
