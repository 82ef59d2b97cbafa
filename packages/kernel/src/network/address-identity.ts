// Whether a server's certificate is for the IP address by which a client reaches it. Libraries compare it with the
// server name that they send, and TLS allows no addresses there.
import { isIP } from 'node:net';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';

/** As the option `checkServerIdentity` of Node. */
export type IdentityCheck = (serverName: string, certificate: PeerCertificate) => Error | undefined;

/** Ignores the server name. Undefined if `host` is not an address: Node's own check is right for names. */
export function addressIdentityCheck(host: string): IdentityCheck | undefined {
  if (isIP(host) === 0) return undefined;
  return (_, certificate) => checkServerIdentity(host, certificate);
}
