// How our clients set up a channel of gRPC. Plain values, no gRPC library: the clients hand them to theirs.
import { addressIdentityCheck, type IdentityCheck } from '@syncline/kernel/node';
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
  const isNamed = tls === undefined || identityCheckOf(target) === undefined;
  const serverName = isNamed ? tls?.serverName : NO_SERVER_NAME;
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

/** Defined if the certificate must be for an IP address. The library would check it for the server name it sent. */
function identityCheckOf({ address, tls }: GrpcTarget): IdentityCheck | undefined {
  return addressIdentityCheck(tls?.serverName ?? hostOf(address) ?? '');
}

/** What `@grpc/grpc-js` offers to create credentials. */
interface CredentialsFactory<Credentials> {
  createInsecure(): Credentials;
  createSsl(
    ca: Buffer | null,
    key: Buffer | null,
    cert: Buffer | null,
    verification: { checkServerIdentity?: IdentityCheck },
  ): Credentials;
}

export function grpcCredentials<Credentials>(
  factory: CredentialsFactory<Credentials>,
  target: GrpcTarget,
): Credentials {
  const { tls } = target;
  if (tls === undefined) return factory.createInsecure();
  const pem = (text: string | undefined) => (text === undefined ? null : Buffer.from(text));
  const check = identityCheckOf(target);
  const verification = check === undefined ? {} : { checkServerIdentity: check };
  return factory.createSsl(pem(tls.ca), pem(tls.key), pem(tls.cert), verification);
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
