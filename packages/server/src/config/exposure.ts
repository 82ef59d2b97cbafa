// Refuses to listen on a non-loopback address without authentication: an open port on a network is
// found within minutes. On loopback no secrets are needed, so that a first try works without any
// setup.
import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';
import { SynclineError } from '@syncline/kernel';
import type { ListenerName } from '../listener.js';
import { SECRETS } from './secret-list.js';
import type { ServerConfig } from './server-config.js';

/** A short secret could be guessed over the network. */
export const SECRET_CHARACTERS_MIN = 16;

/** What `serve` checks before it listens. Resolves to a warning that every start logs, if there is one. */
export async function checkListenHost(
  config: ServerConfig,
  listeners: readonly ListenerName[],
): Promise<string | undefined> {
  const addresses = await resolveListenHost(config.listenHost);
  checkExposure(config, listeners, addresses);
  return exposureWarning(config, listeners, addresses);
}

/**
 * `listeners` are those that will be opened; a port that no slice uses needs no protection. `addresses` are what the
 * listen host resolves to: any name, even `localhost`, may resolve to other addresses.
 */
export function checkExposure(
  config: ServerConfig,
  listeners: readonly ListenerName[],
  addresses: readonly string[] = [config.listenHost],
): void {
  if (addresses.every(isLoopback) || config.insecureListen) return;
  checkAuthentication(config, listeners);
  checkLengths(config);
}

/** Undefined if there is nothing to warn about. */
export function exposureWarning(
  config: ServerConfig,
  listeners: readonly ListenerName[],
  addresses: readonly string[],
): string | undefined {
  if (!config.insecureListen || addresses.every(isLoopback)) return undefined;
  const open = listeners.filter((listener) => NEEDS[listener](config) !== undefined);
  if (open.length === 0) return undefined;
  return `insecure_listen is set: ${open.join(', ')} on ${config.listenHost} can be used by anyone who can reach the port. Use this on closed networks only.`;
}

/** The addresses that a listen host resolves to. Rejects with `invalid-argument` if there are none. */
export async function resolveListenHost(
  host: string,
  resolve: (name: string) => Promise<readonly { readonly address: string }[]> = (name) =>
    lookup(name, { all: true }),
): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host];
  try {
    return (await resolve(host)).map(({ address }) => address);
  } catch (cause) {
    const message = `listen_host is "${host}", which does not resolve to an address. Use an address such as 127.0.0.1, or 0.0.0.0 for all.`;
    throw new SynclineError('invalid-argument', message, {
      details: { field: 'listen_host' },
      cause,
    });
  }
}

function checkAuthentication(config: ServerConfig, listeners: readonly ListenerName[]): void {
  const missing = listeners.flatMap((listener) => {
    const what = NEEDS[listener](config);
    return what === undefined ? [] : [{ listener, what }];
  });
  if (missing.length === 0) return;
  // HTTP and gRPC have the same requirements: mention them once.
  const wants = [...new Set(missing.map(({ what }) => what))].map((what) => {
    const names = missing.filter((one) => one.what === what).map(({ listener }) => listener);
    return `${names.join(' and ')} need${names.length === 1 ? 's' : ''} ${what}`;
  });
  throw new SynclineError(
    'invalid-argument',
    `refusing to listen on ${config.listenHost} without authentication: ${wants.join('; ')}. Or listen on 127.0.0.1; or, on a closed network, pass --insecure-listen.`,
    { details: { field: 'listen_host', listeners: missing.map(({ listener }) => listener) } },
  );
}

function checkLengths({ credentials, listenHost }: ServerConfig): void {
  for (const [name, { what, fileKey, authenticatesClients }] of Object.entries(SECRETS)) {
    if (!authenticatesClients) continue;
    const length = credentials[name as keyof typeof SECRETS]?.reveal().length;
    if (length === undefined || length >= SECRET_CHARACTERS_MIN) continue;
    throw new SynclineError(
      'invalid-argument',
      `refusing to listen on ${listenHost}: ${what} has fewer than ${SECRET_CHARACTERS_MIN} characters and could be guessed. Create one with "openssl rand -hex 32".`,
      { details: { field: fileKey } },
    );
  }
}

const TLS = 'TLS (set tls.cert_file and tls.key_file)';
const TOKEN =
  'a token (set auth.token_file or SYNCLINE_TOKEN) or client certificates (set tls.ca_file)';

/** What a listener is missing, as text; undefined if it may be exposed to the network. */
const NEEDS: Readonly<Record<ListenerName, (config: ServerConfig) => string | undefined>> = {
  http: needsOfRequests,
  grpc: needsOfRequests,
  resp: ({ credentials: { respPassword, tls } }) =>
    respPassword === undefined && tls?.ca === undefined
      ? 'a password (set resp.password_file or SYNCLINE_RESP_PASSWORD) or client certificates (set tls.ca_file)'
      : undefined,
  mesh: ({ credentials: { meshSecret, tls } }) =>
    meshSecret === undefined && tls?.ca === undefined
      ? 'a secret (set mesh.secret_file or SYNCLINE_MESH_SECRET) or client certificates (set tls.ca_file)'
      : undefined,
};

function needsOfRequests({ credentials: { tls, token } }: ServerConfig): string | undefined {
  const authenticates = token !== undefined || tls?.ca !== undefined;
  if (tls === undefined) return authenticates ? TLS : `${TLS} and ${TOKEN}`;
  return authenticates ? undefined : TOKEN;
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

export function isLoopback(host: string): boolean {
  const family = isIP(host);
  if (family === 0) return host === 'localhost';
  return loopback.check(host, family === 6 ? 'ipv6' : 'ipv4');
}
