// How our clients set up a channel of gRPC. Plain values, no gRPC library: the clients hand them to theirs.
import { isIP } from 'node:net';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import { type GrpcTarget, hostOf } from './grpc-target.js';

export interface GrpcChannelLimits {
  /** How often a silent connection is asked whether it is still there. */
  readonly keepaliveIntervalMs: number;
  /** A connection that has not answered by then counts as lost. */
  readonly keepaliveTimeoutMs: number;
  /** The largest message that is taken. */
  readonly responseBytesMax: number;
}

/**
 * Sent as the server name when the certificate must be for an IP address. TLS allows no addresses there, and the
 * library cannot send none. No host ever has this name (RFC 2606).
 */
const NO_SERVER_NAME = 'ip-address.invalid';

/**
 * Nothing is shared between channels, nothing is tried again behind the caller's back, and no proxy or name
 * service of the environment has a say.
 */
export function grpcChannelOptions(
  target: GrpcTarget,
  limits: GrpcChannelLimits,
): Readonly<Record<string, string | number>> {
  const { tls } = target;
  const isAddress = tls !== undefined && verifiedAddressOf(target) !== undefined;
  const serverName = isAddress ? NO_SERVER_NAME : tls?.serverName;
  return {
    'grpc.use_local_subchannel_pool': 1,
    'grpc.enable_retries': 0,
    'grpc.enable_http_proxy': 0,
    'grpc.enable_channelz': 0,
    'grpc.service_config_disable_resolution': 1,
    'grpc.keepalive_time_ms': limits.keepaliveIntervalMs,
    'grpc.keepalive_timeout_ms': limits.keepaliveTimeoutMs,
    'grpc.max_receive_message_length': limits.responseBytesMax,
    ...(serverName === undefined ? {} : { 'grpc.ssl_target_name_override': serverName }),
    ...(tls?.serverName === undefined ? {} : { 'grpc.default_authority': tls.serverName }),
  };
}

/** The IP address that the server's certificate must be for. Undefined: it must be for a name. */
function verifiedAddressOf({ address, tls }: GrpcTarget): string | undefined {
  const host = tls?.serverName ?? hostOf(address) ?? '';
  return isIP(host) === 0 ? undefined : host;
}

/** What `@grpc/grpc-js` offers to create credentials. */
interface CredentialsFactory<Credentials> {
  createInsecure(): Credentials;
  createSsl(
    ca: Buffer | null,
    key: Buffer | null,
    cert: Buffer | null,
    verification: {
      checkServerIdentity?: (host: string, certificate: PeerCertificate) => Error | undefined;
    },
  ): Credentials;
}

export function grpcCredentials<Credentials>(
  factory: CredentialsFactory<Credentials>,
  target: GrpcTarget,
): Credentials {
  const { tls } = target;
  if (tls === undefined) return factory.createInsecure();
  const pem = (text: string | undefined) => (text === undefined ? null : Buffer.from(text));
  const address = verifiedAddressOf(target);
  return factory.createSsl(pem(tls.ca), pem(tls.key), pem(tls.cert), {
    // The library would compare the certificate with the server name that it has sent.
    ...(address === undefined
      ? {}
      : { checkServerIdentity: (_, certificate) => checkServerIdentity(address, certificate) }),
  });
}

/** Messages are encoded and decoded by our own codecs: the library only sees bytes. */
export const grpcBytes = {
  serialize: (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length),
  deserialize: (bytes: Buffer): Uint8Array => bytes,
};

/** Of a status as gRPC libraries hand it out: texts and bytes by name. Ours are texts. */
export function textsOf(
  metadata: Readonly<Record<string, unknown>>,
): Readonly<Record<string, string>> {
  const texts = Object.entries(metadata).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  return Object.fromEntries(texts);
}
