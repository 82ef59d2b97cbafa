// The names of everything that fair keeps in Redis.
//
// `v1:{1700000100000}:0` is row 0 of a seed of the default tracker, `v1:{api:1700000100000}:0` that of a
// tracker. The braces are literal: they are the hash tag, so that all rows of a seed are in one slot and one
// script may access them. Keys of a whole tracker are under their own tag, `{api:meta}`.
import type { Namespace } from '../state/fair-store.js';

export interface SeedKeys {
  /**
   * Hash: `n` changes and `m` cells so far, `e` incarnation of these keys, `t` last change, `c:<client>` last seq,
   * `k:<client>` parts of its next one.
   */
  readonly meta: string;
  /** Sorted set: clients of which `meta` knows a seq, by their last change. */
  readonly clients: string;
  /** Set of row ids. */
  readonly rows: string;
  readonly channel: string;
  row(id: number | string): string;
}

export function seedKeys({ name }: Namespace, seed: bigint): SeedKeys {
  const start = `v1:{${name === '' ? '' : `${name}:`}${seed}}:`;
  return {
    meta: `${start}meta`,
    clients: `${start}clients`,
    rows: `${start}rows`,
    channel: `${start}changes`,
    row: (id) => `${start}${id}`,
  };
}

export interface TrackerKeys {
  readonly epoch: string;
  readonly config: string;
  /** Sorted set: client ids by when they expire. */
  readonly instances: string;
  /** The newest seed that anyone writes. */
  readonly active: string;
  /** Set of seeds. */
  readonly seeds: string;
}

export function trackerKeys({ name }: Namespace): TrackerKeys {
  const start = `v1:{${name === '' ? '' : `${name}:`}meta}:`;
  return {
    epoch: `${start}epoch`,
    config: `${start}config`,
    instances: `${start}instances`,
    active: `${start}active`,
    seeds: `${start}seeds`,
  };
}

/** Channels of all seeds. That of the default tracker may match trackers too: see `seedOfChannel`. */
export function channelPattern({ name }: Namespace): string {
  return name === '' ? 'v1:{[0-9]*}:changes' : `v1:{${name}:*}:changes`;
}

/** Undefined for a channel of another namespace. */
export function seedOfChannel({ name }: Namespace, channel: string): bigint | undefined {
  const start = name === '' ? 'v1:{' : `v1:{${name}:`;
  if (!channel.startsWith(start) || !channel.endsWith('}:changes')) return undefined;
  const text = channel.slice(start.length, -'}:changes'.length);
  return /^\d{1,20}$/.test(text) ? BigInt(text) : undefined;
}
