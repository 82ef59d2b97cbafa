// Addresses as people and programs write them.
import type { Address } from './network.js';

/** `127.0.0.1:7400`, `[::1]:7400`. */
export function formatAddress({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/**
 * One form per host: a listener on `::` sees IPv4 peers as `::ffff:10.0.0.1`, and code that counts or checks by host
 * must not mistake that for another machine.
 */
export function plainHost(host: string): string {
  return /^::ffff:\d+\.\d+\.\d+\.\d+$/i.test(host) ? host.slice('::ffff:'.length) : host;
}
