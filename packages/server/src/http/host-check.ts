// Which Host headers are answered: the defence against DNS rebinding.
//
// A web page anywhere can point a name of its own at 127.0.0.1 and then talk to us as if we were its
// own server. Its Host header still holds that name. Any address is safe as a Host: a page that talks
// to it as its own server was served from there. As an Origin it is not: it may be anyone's server, so only
// this machine's own addresses and explicitly allowed names pass.
import { isIP } from 'node:net';
import { isLoopback } from '../config/exposure.js';

/** `header` is the one that the host was taken from. */
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

/** Whether both name the same host, on any port. */
export function isSameHost(one: string, other: string): boolean {
  return hostOf(one.toLowerCase()) === hostOf(other.toLowerCase());
}

/** The host of the page that made a request, from its Origin header. */
export function originHost(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}

/** Without port, brackets and the trailing dot of a full name. */
function hostOf(header: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d*)?$/.exec(header);
  if (bracketed) return bracketed[1] ?? '';
  if (isIP(header) === 6) return header;
  return header.replace(/:\d*$/, '').replace(/\.$/, '');
}
