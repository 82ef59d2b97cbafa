// Rules over more than one setting.
import { SynclineError } from '@syncline/kernel';
import { findSetting, type ResolvedList } from './resolved-setting.js';
import { compareOrigins, describeOrigin } from './setting-origin.js';
import type { ServerSettings } from './settings-schema.js';
import { usedPorts } from './used-ports.js';

/**
 * `memory` and `data_dir` exclude each other. If they come from different sources, the one with precedence
 * wins: `--memory` overrides a directory in the file, and `--data-dir` overrides `memory = true`. Both from
 * the same source are an error.
 */
export function chooseDataLocation(list: ResolvedList): ResolvedList {
  const memory = findSetting(list, 'memory');
  const dataDir = findSetting(list, 'data_dir');
  if (memory.value !== true || dataDir.origin.kind === 'default') return list;
  const winner = compareOrigins(memory.origin, dataDir.origin);
  if (winner === 0) {
    const [one, other] = [memory.origin, dataDir.origin].map(describeOrigin);
    throw invalid(
      'data_dir',
      `memory (${one}) and data_dir (${other}) are mutually exclusive. Set only one.`,
    );
  }
  const loser = winner > 0 ? dataDir : memory;
  const reset = { ...loser, value: loser.entry.defaultValue, origin: { kind: 'default' } as const };
  return list.map((setting) => (setting === loser ? reset : setting));
}

export function checkCombinations(settings: ServerSettings, list: ResolvedList): void {
  checkTls(settings);
  checkPorts(settings);
  checkFairStore(settings, list);
  checkJobStore(settings, list);
  const ids = settings.mesh.peers.map((peer) => peer.nodeId);
  const twice = ids.find((id, at) => ids.indexOf(id) !== at);
  if (twice === undefined) return;
  const origin = describeOrigin(findSetting(list, 'mesh.peers').origin);
  throw invalid(
    'mesh.peers',
    `mesh.peers names node ${twice} twice (from ${origin}). Node ids must be unique.`,
  );
}

function checkTls({ tls: { certFile, keyFile, caFile } }: ServerSettings): void {
  if (certFile !== undefined && keyFile === undefined) throw incompleteTls('cert_file', 'key_file');
  if (certFile !== undefined) return;
  if (keyFile !== undefined) throw incompleteTls('key_file', 'cert_file');
  if (caFile !== undefined) throw incompleteTls('ca_file', 'cert_file');
}

function incompleteTls(given: string, missing: string): SynclineError {
  return invalid(
    `tls.${missing}`,
    `tls.${given} is set but tls.${missing} is not. TLS needs a certificate and its key: set both.`,
  );
}

/** The system would report the second one as in use, as if another process had it. */
function checkPorts(settings: ServerSettings): void {
  const ports = usedPorts(settings);
  for (const [at, { listener, port }] of ports.entries()) {
    const twin = ports.slice(0, at).find((other) => other.port === port);
    if (twin === undefined) continue;
    throw invalid(
      `${listener}.port`,
      `${twin.listener}.port and ${listener}.port are both ${port}. Give each listener its own port, or 0 for any free one.`,
    );
  }
}

function checkFairStore({ fair: { store, redis } }: ServerSettings, list: ResolvedList): void {
  const { origin } = findSetting(list, 'fair.redis.url');
  if (redis.url === undefined) {
    if (store !== 'redis') return;
    throw invalid(
      'fair.redis.url',
      'fair.store is "redis" but fair.redis.url is not set. Set it to the address of Redis, such as "redis://127.0.0.1:6379".',
    );
  }
  const url = URL.canParse(redis.url) ? new URL(redis.url) : undefined;
  if (url?.password || url?.username)
    throw invalid(
      'fair.redis.url',
      `fair.redis.url (from ${describeOrigin(origin)}) contains a user or a password. Put the password into a separate file and set fair.redis.password_file to it, or set SYNCLINE_FAIR_REDIS_PASSWORD.`,
    );
  if (url !== undefined && isRedisUrl(url)) return;
  throw invalid(
    'fair.redis.url',
    `fair.redis.url is ${JSON.stringify(redis.url)} (from ${describeOrigin(origin)}); expected redis://HOST:PORT or rediss://HOST:PORT, optionally followed by /DATABASE.`,
  );
}

/** Project ids of Google Cloud: 6 to 30 lower-case letters, digits and hyphens; a domain may precede them. */
const PROJECT_ID = /^(?:[a-z0-9.-]{1,64}:)?[a-z][a-z0-9-]{4,28}[a-z0-9]$/;

function checkJobStore({ jobs: { store, firestore } }: ServerSettings, list: ResolvedList): void {
  const { projectId } = firestore;
  const field = 'jobs.firestore.project_id';
  if (projectId === undefined) {
    if (store !== 'firestore') return;
    throw invalid(
      field,
      `jobs.store is "firestore" but ${field} is not set. Set it to the id of the Google Cloud project that has the database.`,
    );
  }
  if (PROJECT_ID.test(projectId)) return;
  const { entry, origin } = findSetting(list, field);
  throw invalid(
    field,
    `${field} is ${JSON.stringify(projectId)} (from ${describeOrigin(origin)}); expected ${entry.meta.allowed}.`,
  );
}

function isRedisUrl({ protocol, hostname, pathname, search, hash }: URL): boolean {
  const isRedis = protocol === 'redis:' || protocol === 'rediss:';
  return isRedis && hostname !== '' && /^\/?\d{0,3}$/.test(pathname) && search + hash === '';
}

function invalid(field: string, message: string): SynclineError {
  return new SynclineError('invalid-argument', message, { details: { field } });
}
