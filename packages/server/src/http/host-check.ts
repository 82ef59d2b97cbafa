// Which Host headers are answered: the defence against DNS rebinding.
//
// A web page anywhere can point a name of its own at 127.0.0.1 and then talk to us as if we were its
// own server. Its Host header still holds that name. Addresses are safe to answer: a page whose origin
// is an address was served from there.
import { isIP } from 'node:net';

export type HostCheck = (host: string | undefined) => boolean;

export function createHostCheck(names: readonly string[]): HostCheck {
  const allowed = new Set(['localhost', ...names.map((name) => hostOf(name.toLowerCase()))]);
  return (header) => {
    if (header === undefined) return false;
    const host = hostOf(header.toLowerCase());
    return isIP(host) !== 0 || allowed.has(host) || host.endsWith('.localhost');
  };
}

/** The host of the page that a request was made by, as its Origin header has it. */
export function originHost(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}

/** Without port, brackets and the dot that ends a full name. */
function hostOf(header: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d*)?$/.exec(header);
  if (bracketed) return bracketed[1] ?? '';
  if (isIP(header) === 6) return header;
  return header.replace(/:\d*$/, '').replace(/\.$/, '');
}
