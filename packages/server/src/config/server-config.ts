// What the server is started with: the settings, and the credentials that the settings name, read
// from their files or the environment.
import type { Secret } from './secret.js';
import type { ServerSettings } from './settings-schema.js';

/** PEM texts, checked to be readable and to belong together. */
export interface TlsCredentials {
  readonly cert: string;
  readonly key: string;
  /** With it, clients must show a certificate that one of these authorities has signed. */
  readonly ca: string | undefined;
}

export interface ServerCredentials {
  readonly tls: TlsCredentials | undefined;
  /** Bearer token of gRPC and HTTP. */
  readonly token: Secret | undefined;
  /** Opens /metrics alone. */
  readonly metricsToken?: Secret | undefined;
  readonly respPassword: Secret | undefined;
  readonly meshSecret: Secret | undefined;
  readonly fairRedisPassword: Secret | undefined;
  readonly jobsPostgresUrl?: Secret | undefined;
}

export interface ServerConfig extends ServerSettings {
  readonly credentials: ServerCredentials;
}
