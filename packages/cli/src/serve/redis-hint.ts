// redis-cli commands that write and read a set, to be pasted into another terminal. In a cluster, the second one
// reads from a different node than the one that the first one writes to.
import type { ListeningAddress } from '@syncline/server';
import { reachableHost } from '../own-url.js';
import type { StatusHint } from './status-hint.js';

export interface RedisHintOptions {
  readonly isTls: boolean;
  /** If so, redis-cli prompts for it: a password in the arguments would be visible to every user of the machine. */
  readonly hasPassword: boolean;
}

/** Empty if the RESP listener is disabled. */
export function redisHint(
  writer: readonly ListeningAddress[],
  reader: readonly ListeningAddress[] | undefined,
  options: RedisHintOptions,
): readonly StatusHint[] {
  const client = clientFor(writer, options);
  if (client === undefined) return [];
  const other = reader === undefined ? client : (clientFor(reader, options) ?? client);
  const remarks = options.isTls
    ? ['with --cacert FILE, if the certificate is signed by a private CA']
    : [];
  return [`${client} sadd fruits apple pear`, `${other} smembers fruits`].map((command) => ({
    command,
    remarks,
  }));
}

function clientFor(
  listeners: readonly ListeningAddress[],
  { isTls, hasPassword }: RedisHintOptions,
): string | undefined {
  const resp = listeners.find(({ listener }) => listener === 'resp');
  if (resp === undefined) return undefined;
  const host = reachableHost(resp.host);
  return [
    'redis-cli',
    ...(isTls ? ['--tls'] : []),
    ...(host === '127.0.0.1' ? [] : [`-h ${host}`]), // 127.0.0.1 is redis-cli's default
    `-p ${resp.port}`,
    ...(hasPassword ? ['--askpass'] : []),
  ].join(' ');
}
