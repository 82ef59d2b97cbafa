// The secrets and where each may come from: a file named by a setting, or a variable that holds the secret
// itself. Never a flag, because every user of the machine can read flags.

export interface SecretSource {
  /** Used in messages: `the bearer token`. */
  readonly what: string;
  /** The variable that holds the secret itself. */
  readonly env: string;
  /** The setting that names its file. */
  readonly fileKey: string;
  /** Whether clients use it to authenticate to this server. Only those secrets have a minimum length. */
  readonly authenticatesClients: boolean;
}

export const SECRETS = {
  token: {
    what: 'the bearer token',
    env: 'SYNCLINE_TOKEN',
    fileKey: 'auth.token_file',
    authenticatesClients: true,
  },
  metricsToken: {
    what: 'the metrics token',
    env: 'SYNCLINE_METRICS_TOKEN',
    fileKey: 'auth.metrics_token_file',
    authenticatesClients: true,
  },
  respPassword: {
    what: 'the RESP password',
    env: 'SYNCLINE_RESP_PASSWORD',
    fileKey: 'resp.password_file',
    authenticatesClients: true,
  },
  meshSecret: {
    what: 'the mesh secret',
    env: 'SYNCLINE_MESH_SECRET',
    fileKey: 'mesh.secret_file',
    authenticatesClients: true,
  },
  fairRedisPassword: {
    what: 'the Redis password',
    env: 'SYNCLINE_FAIR_REDIS_PASSWORD',
    fileKey: 'fair.redis.password_file',
    authenticatesClients: false,
  },
  jobsPostgresUrl: {
    what: 'the PostgreSQL URL',
    env: 'SYNCLINE_JOBS_POSTGRES_URL',
    fileKey: 'jobs.postgres.url_file',
    authenticatesClients: false,
  },
} as const satisfies Readonly<Record<string, SecretSource>>;

export const SECRET_LIST: readonly SecretSource[] = Object.values(SECRETS);
