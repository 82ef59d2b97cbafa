// Lines for redis-cli that write and read a set, to be pasted into another terminal.
import type { ListeningAddress } from '@syncline/server';
import { reachableHost } from '../own-url.js';
import type { StatusHint } from './status-hint.js';

export interface RedisHintOptions {
  readonly isTls: boolean;
  /** Then redis-cli asks for it: a password in a command line is seen by every user of the machine. */
  readonly hasPassword: boolean;
}

/** None for a server that does not speak RESP. */
export function redisHint(
  listeners: readonly ListeningAddress[],
  { isTls, hasPassword }: RedisHintOptions,
): readonly StatusHint[] {
  const resp = listeners.find(({ listener }) => listener === 'resp');
  if (resp === undefined) return [];
  const host = reachableHost(resp.host);
  const client = [
    'redis-cli',
    ...(isTls ? ['--tls'] : []),
    ...(host === '127.0.0.1' ? [] : [`-h ${host}`]), // its own default
    `-p ${resp.port}`,
    ...(hasPassword ? ['--askpass'] : []),
  ].join(' ');
  const remarks = isTls
    ? ['with --cacert FILE, if a private authority signed the certificate']
    : [];
  return ['sadd fruits apple pear', 'smembers fruits'].map((words) => ({
    command: `${client} ${words}`,
    remarks,
  }));
}
