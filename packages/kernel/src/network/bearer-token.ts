// When a client may send a bearer token: over TLS, or to its own machine. Anywhere else, anyone on the network path could
// read it. The token is a secret, so no message shows it.
import { SynclineError } from '../error.js';

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1)$/;

/** `host` is a name or an address, IPv6 without brackets. */
export function isTokenSafe(host: string, isTls: boolean): boolean {
  return isTls || LOOPBACK.test(host);
}

/** Throws `invalid-argument`. `option` is where the URL comes from, such as `--url`. */
export function checkTokenIsSafe({ protocol, hostname, origin }: URL, option: string): void {
  if (isTokenSafe(hostname.replace(/^\[|\]$/g, ''), protocol === 'https:')) return;
  const advice = `Use https:// in ${option}, or send no token.`;
  const message = `refusing to send the token to ${origin} without TLS. ${advice}`;
  throw new SynclineError('invalid-argument', message, { details: { field: 'token' } });
}

/** What a token must be, if this one cannot be sent in a header. */
export function tokenFlaw(token: unknown): string | undefined {
  if (typeof token === 'string' && /^[!-~]+$/.test(token)) return undefined;
  const hint = /[\r\n]$/.test(String(token)) ? '. It ends with a newline: trim it' : '';
  return `printable ASCII without spaces${hint}`;
}
