// The URL of the HTTP listener of a server on this machine, according to its settings.
import type { ServerSettings } from '@syncline/server/config';

export function ownUrl({ listenHost, http, tls }: ServerSettings): string {
  return httpUrl(reachableHost(listenHost), http.port, tls.certFile !== undefined);
}

export function httpUrl(host: string, port: number, isTls: boolean): string {
  return `${isTls ? 'https' : 'http'}://${bracketed(host)}:${port}`;
}

/** A server that listens on all addresses is reached through loopback. */
export function reachableHost(host: string): string {
  return host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
}

/** An IPv6 address before a port is written in brackets. */
export function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
