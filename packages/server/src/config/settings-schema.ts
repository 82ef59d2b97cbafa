// Every setting of the server, by section. Code says `tls.certFile`; the same setting is
// `tls.cert_file` in the TOML file and SYNCLINE_TLS_CERT_FILE in the environment.
//
// A slice adds its section as one object here, and everything else follows from it.
import { z } from 'zod';
import { peerAddressSchema } from './peer-address.js';
import {
  booleanSetting,
  choiceSetting,
  durationSetting,
  fileSetting,
  integerSetting,
  listSetting,
  optionalTextSetting,
  portSetting,
  textSetting,
} from './setting.js';

const idleTimeoutMs = { min: 0, max: 86_400_000 } as const;
const connectionsMax = { min: 1, max: 100_000 } as const;

const http = {
  enabled: booleanSetting(true, {
    help: 'Whether to open the HTTP listener. If false, its other settings have no effect.',
  }),
  port: portSetting(7400, {
    help: 'HTTP port: dashboard, API, metrics, health. 0 picks a free port.',
    flag: '--http-port <port>',
  }),
  connectionsMax: integerSetting(
    { ...connectionsMax, default: 1_024 },
    {
      help: 'Maximum number of HTTP connections. At the limit, a new connection replaces the oldest idle one; if none is idle, the new one is closed immediately.',
    },
  ),
  idleTimeoutMs: integerSetting(
    { ...idleTimeoutMs, default: 60_000 },
    { help: 'An HTTP connection that is idle for this long is closed. 0 disables the timeout.' },
  ),
  allowedHosts: listSetting(z.string().regex(/^[A-Za-z0-9.:[\]-]+$/), 64, {
    help: 'Additional names allowed in the Host header, without a port. Loopback names and the listen host are always allowed; other names are refused, which prevents DNS rebinding.',
    allowedItem: 'a host name',
  }),
};

const grpc = {
  enabled: booleanSetting(true, {
    help: 'Whether to open the gRPC listener. If false, its other settings have no effect.',
  }),
  port: portSetting(7401, {
    help: 'gRPC port. 0 picks a free port.',
    flag: '--grpc-port <port>',
  }),
  connectionsMax: integerSetting(
    { ...connectionsMax, default: 1_024 },
    { help: 'Maximum number of gRPC connections. Further ones are closed immediately.' },
  ),
  idleTimeoutMs: integerSetting(
    { ...idleTimeoutMs, default: 300_000 },
    { help: 'A gRPC connection that is idle for this long is closed. 0 disables the timeout.' },
  ),
};

const resp = {
  enabled: booleanSetting(true, {
    help: 'Whether to open the RESP listener. If false, its other settings have no effect.',
  }),
  port: portSetting(7402, {
    help: 'RESP port, for Redis clients. 0 picks a free port.',
    flag: '--resp-port <port>',
  }),
  passwordFile: fileSetting({
    help: 'File with the password that Redis clients send with AUTH. Alternatively, set SYNCLINE_RESP_PASSWORD to the password itself.',
  }),
  connectionsMax: integerSetting(
    { ...connectionsMax, default: 10_000 },
    { help: 'Maximum number of RESP connections. Further ones are closed immediately.' },
  ),
  idleTimeoutMs: integerSetting(
    { ...idleTimeoutMs, default: 0 },
    {
      help: 'A RESP connection that is idle for this long is closed. 0 disables the timeout, as in Redis.',
    },
  ),
};

const mesh = {
  port: portSetting(7403, {
    help: 'Mesh port, for peers. 0 picks a free port.',
    flag: '--mesh-port <port>',
  }),
  clusterId: textSetting('syncline', {
    help: 'Name of the cluster. Nodes with a different name are refused.',
  }),
  peers: listSetting(peerAddressSchema, 16, {
    help: "Address of each node in the cluster. This node's own entry is skipped, so that all nodes can use the same list.",
    flag: '--peer <id@host:port>',
    allowedItem: 'ID@HOST:PORT (id 1 to 65535)',
  }),
  secretFile: fileSetting({
    help: 'File with the secret that peers authenticate with. Alternatively, set SYNCLINE_MESH_SECRET to the secret itself.',
  }),
  maxRetries: integerSetting(
    { min: 0, max: 100, default: 5 },
    {
      help: 'How many times unacknowledged operations are sent again before the peer is asked to pull.',
    },
  ),
  retryBackoffMs: integerSetting(
    { min: 1, max: 60_000, default: 100 },
    { help: 'Delay before the first resend, in milliseconds. It doubles each time.' },
  ),
  ackTimeoutMs: integerSetting(
    { min: 10, max: 60_000, default: 500 },
    { help: 'How long a peer may take to acknowledge operations before they are sent again.' },
  ),
  bufferSize: integerSetting(
    { min: 1, max: 1_048_576, default: 65_536 },
    {
      help: 'Maximum number of operations waiting for earlier ones they depend on. Above it, operations are dropped unacknowledged and pulled later.',
    },
  ),
  heartbeatIntervalMs: integerSetting(
    { min: 10, max: 60_000, default: 1_000 },
    { help: 'How often a heartbeat is sent to an idle peer, in milliseconds.' },
  ),
  connectionTimeoutMs: integerSetting(
    { min: 100, max: 600_000, default: 5_000 },
    {
      help: 'A peer that sends nothing for this long is disconnected and dialed again. Also the timeout of a handshake.',
    },
  ),
  ringBytesMax: integerSetting(
    { min: 1024 * 1024, max: 16 * 1024 ** 3, default: 64 * 1024 * 1024 },
    {
      help: 'Bytes of recent operations kept for peers that are slow or disconnected. A peer that misses more catches up with a pull.',
    },
  ),
  compression: booleanSetting(false, {
    help: 'Compress frames above 4 KiB with Snappy, if the peer allows it too.',
  }),
  connectionsMax: integerSetting(
    { ...connectionsMax, default: 128 },
    { help: 'Maximum number of mesh connections, including those in their handshake.' },
  ),
};

const fair = {
  store: choiceSetting(['embedded', 'memory', 'redis'], 'embedded', {
    help: 'Where shared fair state is stored. `embedded`: in memory, and on disk within a second or so, unless `memory` is set. `redis`: in Redis, shared by several servers.',
  }),
  broadcastIntervalMs: integerSetting(
    { min: 0, max: 60_000, default: 0 },
    {
      help: 'How long changed cells are collected before they are sent to all clients. 0 sends immediately; 250 saves messages if many clients change many cells.',
    },
  ),
  broadcastBudgetCells: integerSetting(
    { min: 0, max: 262_144, default: 0 },
    {
      help: 'Maximum cells per broadcast; those that changed most are sent first, and none waits for more than 4 broadcasts. 0 means no limit.',
    },
  ),
  defaultWindowMs: integerSetting(
    { min: 10_000, max: 86_400_000, default: 300_000 },
    {
      help: 'Window for clients that do not name a tracker. Their seeds are dropped after three windows.',
    },
  ),
  defaultSeedUnit: choiceSetting(['auto', 's', 'ms', 'us', 'ns', 'opaque'], 'auto', {
    help: 'Unit of the seeds of clients that do not name a tracker, as time since 1970. `auto` guesses it from their size; `opaque` treats them as plain numbers, which are dropped when unused.',
  }),
  redis: z.strictObject({
    url: optionalTextSetting({
      help: 'Address of Redis, for the store `redis`, such as `redis://127.0.0.1:6379`, or `redis://127.0.0.1:6379/2` for database 2. Must not contain a password.',
      allowed: 'a URL that begins with redis:// or rediss://',
    }),
    passwordFile: fileSetting({
      help: 'File with the Redis password. Alternatively, set SYNCLINE_FAIR_REDIS_PASSWORD to the password itself.',
    }),
    tls: booleanSetting(false, {
      help: 'Use TLS to connect to Redis. Implied by a URL that begins with `rediss://`.',
    }),
  }),
};

const sets = {
  durability: choiceSetting(['buffered', 'synced'], 'buffered', {
    help: 'What an acknowledged write survives. `buffered`: kill -9; a power loss may lose the last second of writes. `synced`: power loss too, at the cost of one disk sync per group of writes. `CONFIG SET appendfsync everysec` or `always` switches a running node, until its next start.',
  }),
  memoryMaxBytes: integerSetting(
    { min: 0, max: 1024 ** 4, default: 0 },
    {
      help: 'Memory that the sets may use, in bytes; 0 for no limit. Above it, commands that add members are answered with an OOM error. Removes and changes from peers still work. `CONFIG SET maxmemory` changes it until the next start.',
    },
  ),
  startupDelayMs: integerSetting(
    { min: 0, max: 60_000, default: 1_000 },
    {
      help: 'How long the first write after startup waits for every peer to respond or turn out to be unreachable.',
    },
  ),
  antiEntropyIntervalMs: integerSetting(
    { min: 100, max: 3_600_000, default: 10_000 },
    { help: 'How often this node compares its sets with those of a peer, one peer at a time.' },
  ),
};

const jobs = {
  store: choiceSetting(['embedded', 'postgres', 'firestore'], 'embedded', {
    help: 'Where jobs are stored. `embedded`: on the disk of this node, unless `memory` is set. `postgres`: in PostgreSQL, `firestore`: in Google Cloud Firestore; several servers and programs can share either.',
  }),
  postgres: z.strictObject({
    urlFile: fileSetting({
      help: 'File with the URL of the database, for the store `postgres`: `postgresql://user:password@host/database`. Alternatively, set SYNCLINE_JOBS_POSTGRES_URL to the URL itself.',
    }),
  }),
  firestore: z.strictObject({
    projectId: optionalTextSetting({
      help: 'The Google Cloud project, for the store `firestore`. It is never taken from the environment. Credentials come from GOOGLE_APPLICATION_CREDENTIALS or from the service account of the machine.',
      allowed: 'a project id such as my-project-42',
    }),
  }),
  retention: z.strictObject({
    finished: durationSetting('7d', {
      help: 'A job whose cells are all finished is deleted this long after its last change.',
    }),
    marked: durationSetting('1h', {
      help: 'A job marked as deleted is removed permanently after this time.',
    }),
    idle: durationSetting('never', {
      help: 'Any other job is deleted this long after its last change, finished or not.',
    }),
  }),
};

const tls = {
  certFile: fileSetting({
    help: 'PEM file with the certificate chain of this node. Enables TLS on every listener.',
  }),
  keyFile: fileSetting({ help: 'PEM file with the private key.' }),
  caFile: fileSetting({
    help: 'PEM file with the CAs that sign client certificates. Every listener then requires one (mutual TLS), and peers are verified against it.',
  }),
};

const auth = {
  tokenFile: fileSetting({
    help: 'File with the bearer token that gRPC and HTTP clients send. Alternatively, set SYNCLINE_TOKEN to the token itself. The command line uses it too.',
    env: 'SYNCLINE_TOKEN_FILE',
  }),
  metricsTokenFile: fileSetting({
    help: 'File with a second bearer token that gives access to `/metrics` only, for Prometheus. Alternatively, set SYNCLINE_METRICS_TOKEN to the token itself.',
  }),
};

const log = {
  level: choiceSetting(['debug', 'info', 'warn', 'error'], 'info', {
    help: 'Minimum level of log lines, which go to standard error.',
    flag: '--log-level <level>',
  }),
};

const shutdown = {
  graceMs: integerSetting(
    { min: 0, max: 600_000, default: 10_000 },
    { help: 'How long a shutdown waits for requests in flight. Remaining ones are then aborted.' },
  ),
};

export const settingsSchema = z.strictObject({
  nodeId: integerSetting(
    { min: 1, max: 65_535, default: 1 },
    { help: 'Id of this node, unique in its cluster.', flag: '--node-id <n>' },
  ),
  dataDir: textSetting('./syncline-data', {
    help: 'Data directory. Only one process at a time can use it.',
    flag: '--data-dir <dir>',
  }),
  memory: booleanSetting(false, {
    help: 'Keep all data in memory and store nothing on disk. Cannot be combined with data_dir.',
    flag: '--memory',
  }),
  listenHost: textSetting('127.0.0.1', {
    help: 'Address to listen on. Non-loopback addresses require authentication, and TLS for HTTP and gRPC.',
    flag: '--listen-host <host>',
  }),
  insecureListen: booleanSetting(false, {
    help: 'Allow non-loopback addresses without authentication or TLS, for closed networks only. Every start logs a warning.',
    flag: '--insecure-listen',
  }),
  http: z.strictObject(http),
  grpc: z.strictObject(grpc),
  resp: z.strictObject(resp),
  mesh: z.strictObject(mesh),
  fair: z.strictObject(fair),
  sets: z.strictObject(sets),
  jobs: z.strictObject(jobs),
  tls: z.strictObject(tls),
  auth: z.strictObject(auth),
  log: z.strictObject(log),
  shutdown: z.strictObject(shutdown),
});

type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T;

/** What users set, checked and complete. */
export type ServerSettings = DeepReadonly<z.output<typeof settingsSchema>>;
