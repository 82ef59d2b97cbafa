// Checks the Host header, to prevent DNS rebinding.
//
// A web page can point a domain name of its own at 127.0.0.1 and then send us requests as if we were its server,
// but the Host header still contains that name. An IP address is always safe as Host: a page that sends it was
// served from that address. As Origin it is not, since it may be anyone's server, so only loopback addresses and
// explicitly allowed names pass.
import { isIP } from 'node:net';
import { isLoopback } from '../config/exposure.js';

/** `header` is the header that contained the host. */
export type HostCheck = (host: string | undefined, header: 'host' | 'origin') => boolean;

export function createHostCheck(names: readonly string[]): HostCheck {
  const allowed = new Set(['localhost', ...names.map((name) => hostOf(name.toLowerCase()))]);
  return (value, header) => {
    if (value === undefined) return false;
    const host = hostOf(value.toLowerCase());
    if (allowed.has(host) || host.endsWith('.localhost')) return true;
    return header === 'host' ? isIP(host) !== 0 : isLoopback(host);
  };
}

/** Ignores the port. */
export function isSameHost(one: string, other: string): boolean {
  return hostOf(one.toLowerCase()) === hostOf(other.toLowerCase());
}

/** The host of the page that made a request, from its Origin header. */
export function originHost(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}

/** Removes the port, brackets and the trailing dot of a fully qualified name. */
function hostOf(header: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d*)?$/.exec(header);
  if (bracketed) return bracketed[1] ?? '';
  if (isIP(header) === 6) return header;
  return header.replace(/:\d*$/, '').replace(/\.$/, '');
}
