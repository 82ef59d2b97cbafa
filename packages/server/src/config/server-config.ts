// The configuration of a server: the settings, and the credentials that were read from files or the environment.
import type { Secret } from './secret.js';
import type { ServerSettings } from './settings-schema.js';

/** PEM texts. The certificate and the key are known to match. */
export interface TlsCredentials {
  readonly cert: string;
  readonly key: string;
  /** If set, clients must present a certificate signed by one of these authorities. */
  readonly ca: string | undefined;
}

export interface ServerCredentials {
  readonly tls: TlsCredentials | undefined;
  /** Bearer token of gRPC and HTTP. */
  readonly token: Secret | undefined;
  /** Gives access to /metrics only. */
  readonly metricsToken?: Secret | undefined;
  readonly respPassword: Secret | undefined;
  readonly meshSecret: Secret | undefined;
  readonly fairRedisPassword: Secret | undefined;
  readonly jobsPostgresUrl?: Secret | undefined;
}

export interface ServerConfig extends ServerSettings {
  readonly credentials: ServerCredentials;
}
