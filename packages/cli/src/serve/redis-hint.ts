// Lines for redis-cli that write and read a set, to be pasted into another terminal. In a cluster the second one
// reads on another node than the first one writes.
import type { ListeningAddress } from '@syncline/server';
import { reachableHost } from '../own-url.js';
import type { StatusHint } from './status-hint.js';

export interface RedisHintOptions {
  readonly isTls: boolean;
  /** Then redis-cli prompts for it: a password on a command line is visible to every user of the machine. */
  readonly hasPassword: boolean;
}

/** None for a server that does not speak RESP. */
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
    ...(host === '127.0.0.1' ? [] : [`-h ${host}`]), // its own default
    `-p ${resp.port}`,
    ...(hasPassword ? ['--askpass'] : []),
  ].join(' ');
}
