// Checks a set of slices, and determines which listeners they use.
import { assert } from '@syncline/kernel';
import type { ServerConfig } from './config/server-config.js';
import type { ListenerName } from './listener.js';
import type { Slice } from './slice.js';

/**
 * In the order in which they are opened, without disabled ones. The server itself uses HTTP; the mesh listener is
 * used if there are peers.
 */
export function usedListeners(
  slices: readonly Slice[],
  { mesh: { peers }, http, grpc, resp }: Pick<ServerConfig, 'mesh' | 'http' | 'grpc' | 'resp'>,
): readonly ListenerName[] {
  const used = new Set<ListenerName>(slices.flatMap((slice) => slice.listeners));
  if (peers.length > 0) used.add('mesh');
  used.add('http');
  const isOff = { mesh: false, grpc: !grpc.enabled, resp: !resp.enabled, http: !http.enabled };
  const order = ['mesh', 'grpc', 'resp', 'http'] as const;
  return order.filter((listener) => used.has(listener) && !isOff[listener]);
}

/** Slices come from our own code, so an invalid set is a bug. */
export function assertSlices(slices: readonly Slice[]): void {
  const names = slices.map((slice) => slice.name);
  assert(new Set(names).size === names.length, `slices have different names: ${names.join(', ')}`);
  for (const name of names) {
    assert(/^[a-z]+$/.test(name), `a slice is named in lower-case letters: ${name}`);
    assert(name !== 'status', 'the server itself answers /api/status');
  }
  const users = slices.filter((slice) => slice.listeners.includes('resp'));
  assert(users.length <= 1, 'one slice at most uses resp');
}
