// The secrets and where each may come from: the file that a setting names, or a variable that holds
// the secret itself. Never a flag, because every user of the machine can read those.

export interface SecretSource {
  /** For people: `the bearer token`. */
  readonly what: string;
  /** The variable that holds the secret itself. */
  readonly env: string;
  /** The setting that names its file. */
  readonly fileKey: string;
  /** Whether clients authenticate to us with it. A secret that we send to others is theirs to judge. */
  readonly isAskedHere: boolean;
}

export const SECRETS = {
  token: {
    what: 'the bearer token',
    env: 'SYNCLINE_TOKEN',
    fileKey: 'auth.token_file',
    isAskedHere: true,
  },
  metricsToken: {
    what: 'the metrics token',
    env: 'SYNCLINE_METRICS_TOKEN',
    fileKey: 'auth.metrics_token_file',
    isAskedHere: true,
  },
  respPassword: {
    what: 'the RESP password',
    env: 'SYNCLINE_RESP_PASSWORD',
    fileKey: 'resp.password_file',
    isAskedHere: true,
  },
  meshSecret: {
    what: 'the mesh secret',
    env: 'SYNCLINE_MESH_SECRET',
    fileKey: 'mesh.secret_file',
    isAskedHere: true,
  },
  fairRedisPassword: {
    what: 'the Redis password',
    env: 'SYNCLINE_FAIR_REDIS_PASSWORD',
    fileKey: 'fair.redis.password_file',
    isAskedHere: false,
  },
  jobsPostgresUrl: {
    what: 'the PostgreSQL URL',
    env: 'SYNCLINE_JOBS_POSTGRES_URL',
    fileKey: 'jobs.postgres.url_file',
    isAskedHere: false,
  },
} as const satisfies Readonly<Record<string, SecretSource>>;

export const SECRET_LIST: readonly SecretSource[] = Object.values(SECRETS);
