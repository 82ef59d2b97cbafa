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
    help: 'Whether to open the HTTP listener. With false its port and its other settings have no effect.',
  }),
  port: portSetting(7400, {
    help: 'Port for HTTP: page, JSON, metrics, health. 0 lets the system choose.',
    flag: '--http-port <port>',
  }),
  connectionsMax: integerSetting(
    { ...connectionsMax, default: 1_024 },
    { help: 'HTTP connections at once. Further ones are closed at once.' },
  ),
  idleTimeoutMs: integerSetting(
    { ...idleTimeoutMs, default: 60_000 },
    { help: 'An HTTP connection without a request for this long is closed. 0 keeps it.' },
  ),
  allowedHosts: listSetting(z.string().regex(/^[A-Za-z0-9.:[\]-]+$/), 64, {
    help: 'Further names in the Host header that are answered, without a port. Loopback names and the listen host always are; any other name is refused, so that a web page cannot reach the server through a name of its own.',
    allowedItem: 'a host name',
  }),
};

const grpc = {
  enabled: booleanSetting(true, {
    help: 'Whether to open the gRPC listener. With false its port and its other settings have no effect.',
  }),
  port: portSetting(7401, {
    help: 'Port for gRPC. 0 lets the system choose.',
    flag: '--grpc-port <port>',
  }),
  connectionsMax: integerSetting(
    { ...connectionsMax, default: 1_024 },
    { help: 'gRPC connections at once. Further ones are closed at once.' },
  ),
  idleTimeoutMs: integerSetting(
    { ...idleTimeoutMs, default: 300_000 },
    { help: 'A gRPC connection without a call for this long is closed. 0 keeps it.' },
  ),
};

const resp = {
  enabled: booleanSetting(true, {
    help: 'Whether to open the RESP listener. With false its port and its other settings have no effect.',
  }),
  port: portSetting(7402, {
    help: 'Port for RESP: any Redis client. 0 lets the system choose.',
    flag: '--resp-port <port>',
  }),
  passwordFile: fileSetting({
    help: 'File with the password that Redis clients send by AUTH. Instead of it SYNCLINE_RESP_PASSWORD may hold the password itself.',
  }),
  connectionsMax: integerSetting(
    { ...connectionsMax, default: 10_000 },
    { help: 'RESP connections at once. Further ones are closed at once.' },
  ),
  idleTimeoutMs: integerSetting(
    { ...idleTimeoutMs, default: 0 },
    {
      help: 'A RESP connection without a command for this long is closed. 0 keeps it, as Redis does.',
    },
  ),
};

const mesh = {
  port: portSetting(7403, {
    help: 'Port for the mesh: peers. 0 lets the system choose.',
    flag: '--mesh-port <port>',
  }),
  clusterId: textSetting('syncline', {
    help: 'Name of the cluster. Nodes of another name are refused.',
  }),
  peers: listSetting(peerAddressSchema, 16, {
    help: 'The other nodes. This node itself may be in the list and is skipped, so that one list serves all nodes.',
    flag: '--peer <id@host:port>',
    allowedItem: 'ID@HOST:PORT (id 1 to 65535)',
  }),
  secretFile: fileSetting({
    help: 'File with the secret by which peers know each other. Instead of it SYNCLINE_MESH_SECRET may hold the secret itself.',
  }),
  maxRetries: integerSetting(
    { min: 0, max: 100, default: 5 },
    {
      help: 'How often unacknowledged operations are sent again before the peer is asked to pull.',
    },
  ),
  retryBackoffMs: integerSetting(
    { min: 1, max: 60_000, default: 100 },
    { help: 'Wait before the first resend, in milliseconds. It doubles with each further one.' },
  ),
  ackTimeoutMs: integerSetting(
    { min: 10, max: 60_000, default: 500 },
    { help: 'How long a peer may take to acknowledge operations before they are sent again.' },
  ),
  bufferSize: integerSetting(
    { min: 1, max: 1_048_576, default: 65_536 },
    {
      help: 'Operations that may wait for earlier ones they depend on. Beyond it they are dropped unacknowledged and pulled later.',
    },
  ),
  heartbeatIntervalMs: integerSetting(
    { min: 10, max: 60_000, default: 1_000 },
    { help: 'How often a heartbeat is sent to an idle peer, in milliseconds.' },
  ),
  connectionTimeoutMs: integerSetting(
    { min: 100, max: 600_000, default: 5_000 },
    {
      help: 'A peer that sends nothing for this long is disconnected and dialled again. Also the limit of a handshake.',
    },
  ),
  ringBytesMax: integerSetting(
    { min: 1024 * 1024, max: 16 * 1024 ** 3, default: 64 * 1024 * 1024 },
    {
      help: 'Bytes of recent operations that are kept for peers that are slow or away. A peer that misses more catches up by a pull.',
    },
  ),
  compression: booleanSetting(false, {
    help: 'Compress frames above 4 KiB with Snappy, if the peer allows it too.',
  }),
  connectionsMax: integerSetting(
    { ...connectionsMax, default: 64 },
    { help: 'Mesh connections at once, those in their handshake included.' },
  ),
};

const fair = {
  store: choiceSetting(['embedded', 'memory', 'redis'], 'embedded', {
    help: 'Where the shared cells of fair live. `embedded`: in memory, and on disk within a second or so; with `memory` set there is no disk. `redis`: several servers share them.',
  }),
  broadcastIntervalMs: integerSetting(
    { min: 0, max: 60_000, default: 0 },
    {
      help: 'How long changed cells are collected before they are sent to all clients. 0 sends at once; 250 saves messages where many clients change much.',
    },
  ),
  broadcastBudgetCells: integerSetting(
    { min: 0, max: 262_144, default: 0 },
    {
      help: 'Cells of one broadcast at most; those that changed most go first, and none waits for more than 4 broadcasts. 0 sends all.',
    },
  ),
  defaultWindowMs: integerSetting(
    { min: 10_000, max: 86_400_000, default: 300_000 },
    {
      help: 'Window of clients that name no tracker. Their seeds are dropped after three of these.',
    },
  ),
  defaultSeedUnit: choiceSetting(['auto', 's', 'ms', 'us', 'ns', 'opaque'], 'auto', {
    help: 'What the seeds of clients that name no tracker count since 1970. `auto` goes by their size; `opaque` takes them for plain numbers, which are dropped when nobody uses them.',
  }),
  redis: z.strictObject({
    url: optionalTextSetting({
      help: 'Where Redis is, for the store `redis`: `redis://127.0.0.1:6379`, or with a database `redis://127.0.0.1:6379/2`. No password in here.',
      allowed: 'a URL that begins with redis:// or rediss://',
    }),
    passwordFile: fileSetting({
      help: 'File with the password of Redis. Instead of it SYNCLINE_FAIR_REDIS_PASSWORD may hold the password itself.',
    }),
    tls: booleanSetting(false, {
      help: 'Speak TLS with Redis. A URL that begins with `rediss://` does so too.',
    }),
  }),
};

const sets = {
  durability: choiceSetting(['buffered', 'synced'], 'buffered', {
    help: 'What an acknowledged write survives. `buffered`: kill -9; a power loss may cost the last second of writes. `synced`: power loss too, at the price of one disk sync per group of writes. `CONFIG SET appendfsync everysec` or `always` switches a running node, until its next start.',
  }),
  memoryMaxBytes: integerSetting(
    { min: 0, max: 1024 ** 4, default: 0 },
    {
      help: 'Memory that the sets may use, in bytes; 0 for no limit. Above it, commands that add members are answered with an OOM error. Removes still work, and so does what peers send. `CONFIG SET maxmemory` changes it until the next start.',
    },
  ),
  startupDelayMs: integerSetting(
    { min: 0, max: 60_000, default: 1_000 },
    {
      help: 'How long the first write of a start may wait until every peer has answered or could not be reached.',
    },
  ),
  antiEntropyIntervalMs: integerSetting(
    { min: 100, max: 3_600_000, default: 10_000 },
    { help: 'How often the sets are compared with those of a peer, one peer at a time.' },
  ),
};

const jobs = {
  store: choiceSetting(['embedded', 'firestore'], 'embedded', {
    help: 'Where jobs live. `embedded`: on the disk of this node; with `memory` set there is no disk. `firestore`: in Google Cloud Firestore, which several servers and programs share.',
  }),
  firestore: z.strictObject({
    projectId: optionalTextSetting({
      help: 'The Google Cloud project, for the store `firestore`. It is never guessed from the machine.',
      allowed: 'the id of a project, like my-project-42',
    }),
  }),
  retention: z.strictObject({
    finished: durationSetting('7d', {
      help: 'A job whose cells are all finished is deleted this long after its last change.',
    }),
    marked: durationSetting('1h', {
      help: 'A job that was marked deleted goes for good this long after that.',
    }),
    idle: durationSetting('never', {
      help: 'Any other job is deleted this long after its last change, finished or not.',
    }),
  }),
};

const tls = {
  certFile: fileSetting({
    help: 'PEM file with the certificate chain of this node. With it every listener speaks TLS.',
  }),
  keyFile: fileSetting({ help: 'PEM file with the private key of the certificate.' }),
  caFile: fileSetting({
    help: 'PEM file with the authorities that sign client certificates. With it every listener demands one (mutual TLS), and peers are checked against it.',
  }),
};

const auth = {
  tokenFile: fileSetting({
    help: 'File with the bearer token that gRPC and HTTP clients send. Instead of it SYNCLINE_TOKEN may hold the token itself. The command line sends the same one.',
    env: 'SYNCLINE_TOKEN_FILE',
  }),
  metricsTokenFile: fileSetting({
    help: 'File with a second bearer token that opens `/metrics` and nothing else, for Prometheus. Instead of it SYNCLINE_METRICS_TOKEN may hold the token itself.',
  }),
};

const log = {
  level: choiceSetting(['debug', 'info', 'warn', 'error'], 'info', {
    help: 'Least important lines that are logged. They go to standard error.',
    flag: '--log-level <level>',
  }),
};

const shutdown = {
  graceMs: integerSetting(
    { min: 0, max: 600_000, default: 10_000 },
    { help: 'How long a stop may take to finish what is under way. Then the rest is cut.' },
  ),
};

export const settingsSchema = z.strictObject({
  nodeId: integerSetting(
    { min: 1, max: 65_535, default: 1 },
    { help: 'Number of this node, unique in its cluster.', flag: '--node-id <n>' },
  ),
  dataDir: textSetting('./syncline-data', {
    help: 'Directory of what must survive a restart. One process at a time may use it.',
    flag: '--data-dir <dir>',
  }),
  memory: booleanSetting(false, {
    help: 'Keep everything in memory and nothing on disk. Excludes data_dir.',
    flag: '--memory',
  }),
  listenHost: textSetting('127.0.0.1', {
    help: 'Address to listen on. Beyond loopback every listener needs authentication.',
    flag: '--listen-host <host>',
  }),
  insecureListen: booleanSetting(false, {
    help: 'Allow listening beyond loopback without authentication or TLS, on a network that is closed to everybody else. Every start logs a warning.',
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
