// The public face of keyed state: what a state is described by, and what can be done with it.
//
// A **versioned** state holds the newest value of each key by an explicit version, so applying an update
// twice, or late, is harmless. An **aggregate** holds counts and sums, whose updates cannot be told
// apart; it is exact because state and input positions are restored together. Values belong to the state
// once they are given to it: do not modify them afterwards, and let `update` return a new value.
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
  /** In a pipeline: codecs that may have written the state before. It is then written again with the new one. */
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
 * `applied`: it was newer. `same`: this very value is there at this version. `older`: a newer version is
 * there. The last two change nothing.
 */
export type PutResult = 'applied' | 'same' | 'older';

export interface StateBackend<K extends Key, V, Ver extends Version> extends Snapshots<K> {
  /** Throws `version-conflict`, changing nothing, if another value is there at this very version. */
  put(key: K, value: V, version: Ver): PutResult;
  /** Leaves a tombstone, so that older values that arrive later are still recognised as older. */
  delete(key: K, version: Ver): PutResult;
  get(key: K): { readonly value: V; readonly version: Ver } | undefined;
  /**
   * Drops the tombstones of versions up to `through` and returns how many. By calling it you promise that
   * nothing older will come: it would be applied.
   */
  prune(through: Ver): number;
}

export interface AggregateBackend<K extends Key, V> extends Snapshots<K> {
  /**
   * Sets the value to what `fn` makes of the current one, and returns it. `undefined` removes the key. If
   * `fn` throws, nothing changes. `fn` must not use this state itself.
   */
  update(key: K, fn: (value: V | undefined) => V | undefined): V | undefined;
  get(key: K): V | undefined;
}

export interface Snapshots<K extends Key> {
  /** The content at the time of the call. Equal states give equal bytes, whatever their history. */
  snapshot(): Promise<Uint8Array>;
  /** The same for some keys; those that are not there are left out. Nothing is removed. */
  snapshotForKeys(keys: Iterable<K>): Promise<Uint8Array>;
  /**
   * Replaces everything with the snapshot, or changes nothing and throws `corrupt`, `too-new` or
   * `incompatible`. Do not write to the state before it has settled.
   */
  restore(bytes: Uint8Array): Promise<void>;
  /**
   * Merges the snapshot, all of it or nothing: into a versioned state as if each entry were put, into an
   * aggregate only if none of the keys exists yet, else `version-conflict`.
   */
  restoreKeys(bytes: Uint8Array): Promise<void>;
}

/** The backend that a description asks for. */
export type BackendOf<Description> =
  Description extends AggregateDescription<infer V>
    ? AggregateBackend<Key, V>
    : Description extends VersionedDescription<infer V, infer Ver>
      ? StateBackend<Key, V, Ver>
      : never;

/** Where states live: `memoryState()` or `embeddedState(storage)`. */
export interface StateStore {
  /** `uid` names the state: a lower-case letter, then up to 62 of `a-z`, `0-9`, `-`. */
  open<Description extends StateDescription>(
    uid: string,
    description: Description,
  ): Promise<BackendOf<Description>>;
}
