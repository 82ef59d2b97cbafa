// Settings of our Redis clients, and the conversion of their errors.
//
// By default ioredis queues commands while it is not connected, and resends those that were cut off. Both hide
// whether a change was applied, so both are off: we resend, under the same sequence number.
import { backoffMs, type Random, SynclineError } from '@syncline/kernel';
import { Redis, type RedisOptions } from 'ioredis';
import { fairLimits } from '../limits.js';

/** Settings that must not be changed. */
export type RedisSettings = Omit<RedisOptions, 'replyMapping'>;

export type RedisSource =
  | {
      /** `redis://user:password@host:6379/0`, or `rediss://` for TLS. */
      readonly url: string;
    }
  | {
      /** Creates a client; called twice, for commands and for subscriptions. Spread `settings` last. */
      readonly client: (settings: RedisSettings) => Redis;
    };

/**
 * Short: clients and services that wait for Redis add up to 2 s of their own backoff, and should be back within
 * 2.5 s.
 */
const RECONNECT = { initialMs: 50, maxMs: 250 } as const;
const RECONNECT_MS_MIN = 20;

export function createClient(source: RedisSource, random: Random): Redis {
  const settings: RedisSettings = {
    protocol: 2,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
    connectTimeout: fairLimits.redisConnectTimeoutMs.value,
    retryStrategy: (attempt) => RECONNECT_MS_MIN + backoffMs(attempt - 1, RECONNECT, random),
  };
  checkSource(source);
  return 'client' in source ? source.client(settings) : new Redis(source.url, settings);
}

/** Throws `invalid-argument`. */
export function checkSource(source: RedisSource): void {
  if ('client' in source || /^rediss?:\/\/./.test(source.url)) return;
  throw new SynclineError(
    'invalid-argument',
    'the address of Redis must begin with redis:// or rediss://, as in redis://127.0.0.1:6379. It is not shown here, since it may contain a password.',
    { details: { field: 'url' } },
  );
}

/** Refused by Redis itself, so nothing was applied. */
export function replyError(thrown: Error): SynclineError {
  const isLogin = /^(NOAUTH|WRONGPASS|NOPERM)\b/.test(thrown.message);
  if (isLogin)
    return new SynclineError(
      'unauthenticated',
      `Redis refused access (${thrown.message}). Check the user and password in the URL.`,
      { cause: thrown },
    );
  const isPassing = /^(LOADING|BUSY|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|OOM|MISCONF)\b/.test(
    thrown.message,
  );
  return new SynclineError('unavailable', `Redis refused a command: ${thrown.message}`, {
    retryable: isPassing,
    cause: thrown,
  });
}
