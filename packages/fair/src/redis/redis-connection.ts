// Commands to Redis, each answered or failed within its deadline, with an accurate outcome: refused or never
// sent is `not-applied`; sent and not answered is `unknown`.
//
// A command that misses its deadline also ends the connection: answers arrive in order, so nothing behind it
// would be in time either.
//
// Repeatable calls are retried until the outcome is known, the budget is used up, or Redis counts as lost.

import { createHash } from 'node:crypto';
import {
  backoffMs,
  type Clock,
  certificateProblem,
  type Logger,
  type Metrics,
  type Random,
  SynclineError,
} from '@syncline/kernel';
import type { Redis } from 'ioredis';
import { fairLimits } from '../limits.js';
import type { FairMetricName } from '../metrics-list.js';
import { Reachability } from './reachability.js';
import { createClient, type RedisSource, replyError } from './redis-client.js';

export interface RedisDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics<FairMetricName>;
}

export type RedisArgument = string | number | Buffer;

const TRUST = {
  ca: 'tls.ca of the Redis client, or NODE_EXTRA_CA_CERTS,',
  name: 'tls.servername of the Redis client',
  own: 'tls.cert and tls.key of the Redis client',
};

/** Keys of another type that are reported once; further ones are reported each time. */
const WRONG_KEYS_MAX = 100;

export class RedisConnection {
  readonly #deps: RedisDeps;
  readonly #client: Redis;
  readonly reachability: Reachability;
  readonly #wrongKeys = new Set<string>();
  #isClosed = false;
  #isUp: boolean | undefined;
  /** Why the last attempt to connect failed. */
  #failure: Error | undefined;

  constructor(deps: RedisDeps, source: RedisSource) {
    this.#deps = deps;
    this.reachability = new Reachability({ clock: deps.clock, probe: () => void this.#probe() });
    this.#client = createClient(source, deps.random);
    this.#client.on('ready', () => {
      this.#failure = undefined;
      void this.#probe();
    });
    this.#client.on('close', () => this.#note(false));
    this.#client.on('error', (error: Error) => {
      this.#failure = error;
      deps.logger.debug('connection to Redis failed', { slice: 'fair', error: error.message });
    });
    this.reachability.failed(); // until the first answer
  }

  /** Resolves to the reply, with texts as bytes. */
  async call(command: string, args: readonly RedisArgument[]): Promise<unknown> {
    if (this.#isClosed) throw new SynclineError('closed', 'the connection to Redis was closed');
    if (this.#client.status !== 'ready') {
      this.#note(false);
      throw this.unreachable();
    }
    const reply = await this.#withDeadline(this.#client.callBuffer(command, [...args]));
    this.#note(true);
    return reply;
  }

  /** Calls the script by its hash, or by its text if Redis does not have it. */
  async script(
    script: RedisScript,
    keys: readonly string[],
    args: readonly RedisArgument[],
  ): Promise<unknown> {
    const rest = [keys.length, ...keys, ...args];
    try {
      return await this.call('EVALSHA', [script.sha1, ...rest]);
    } catch (thrown) {
      if (!(thrown instanceof SynclineError)) throw thrown;
      if (!thrown.message.includes('NOSCRIPT')) throw await this.#explain(keys, thrown);
      this.#deps.metrics.add('syncline_fair_redis_eval_fallbacks_total');
      return await this.call('EVAL', [script.text, ...rest]);
    }
  }

  /** Says why the last attempt to connect failed, and then `note`. */
  unreachable(note = ''): SynclineError {
    const cause = this.#failure;
    const reason = cause === undefined ? '' : ` (${cause.message})`;
    const problem = certificateProblem(cause?.message ?? '', TRUST);
    const message =
      problem === undefined
        ? `Redis is unreachable${reason}${note}. Check that it is running, and its address; fair keeps trying.`
        : `Redis is unreachable${note}: ${problem}`;
    return new SynclineError('unavailable', message, { cause });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.reachability.close();
    this.#client.disconnect();
  }

  /** Logged once per key, because the calls of every client fail alike. */
  async #explain(keys: readonly string[], thrown: SynclineError): Promise<SynclineError> {
    const error = await explainWrongType(this, keys, thrown);
    const { key } = error.details;
    if (typeof key !== 'string' || this.#wrongKeys.has(key)) return error;
    if (this.#wrongKeys.size < WRONG_KEYS_MAX) this.#wrongKeys.add(key);
    this.#deps.logger.error(error.message, { slice: 'fair', key });
    return error;
  }

  async #withDeadline(reply: Promise<unknown>): Promise<unknown> {
    const deadlineMs = fairLimits.redisCallTimeoutMs.value;
    let isLate = false;
    const timer = this.#deps.clock.setTimer(deadlineMs, () => {
      isLate = true;
      this.#client.disconnect(true);
    });
    try {
      return await reply;
    } catch (thrown) {
      if (!(thrown instanceof Error)) throw thrown;
      if (thrown.name === 'ReplyError') throw replyError(thrown);
      this.#note(false);
      throw isLate
        ? new SynclineError('timeout', `Redis did not answer within ${deadlineMs} ms`, {
            outcome: 'unknown',
            cause: thrown,
          })
        : new SynclineError(
            'unavailable',
            'the connection to Redis broke before the reply arrived',
            {
              outcome: 'unknown',
              cause: thrown,
            },
          );
    } finally {
      timer.cancel();
    }
  }

  async #probe(): Promise<void> {
    try {
      await this.call('PING', []);
    } catch (thrown) {
      SynclineError.from(thrown); // `call` has updated reachability; a failed assertion is rethrown
    }
  }

  #note(isUp: boolean): void {
    if (this.#isClosed) return;
    if (isUp) this.reachability.succeeded();
    else this.reachability.failed();
    const isConnecting = this.#isUp === undefined && this.#failure === undefined;
    if (this.#isUp === isUp || (!isUp && isConnecting)) return;
    const { logger, metrics } = this.#deps;
    metrics.set('syncline_fair_redis_connected', isUp ? 1 : 0);
    if (!isUp)
      logger.warn('Redis unreachable', { slice: 'fair', error: this.unreachable().message });
    else if (this.#isUp === undefined) logger.info('Redis reachable', { slice: 'fair' });
    else logger.warn('Redis reachable again', { slice: 'fair' });
    this.#isUp = isUp;
  }
}

// A Lua script with its SHA-1 hash. Calls send the hash; the text is sent only when Redis does not have it
// (NOSCRIPT), after a restart, a failover or SCRIPT FLUSH.

export interface RedisScript {
  readonly text: string;
  /** The argument of EVALSHA. */
  readonly sha1: string;
}

export function defineScript(lua: string): RedisScript {
  return { text: lua, sha1: createHash('sha1').update(lua).digest('hex') };
}

// Reads replies of Redis. Texts arrive as bytes, and integers as numbers; nil and anything else is undefined.

export function list(reply: unknown): readonly unknown[] {
  return Array.isArray(reply) ? reply : [];
}

export function text(reply: unknown): string | undefined {
  if (Buffer.isBuffer(reply)) return reply.toString('latin1');
  return typeof reply === 'string' || typeof reply === 'number' ? String(reply) : undefined;
}

export function texts(reply: unknown): (string | undefined)[] {
  return list(reply).map(text);
}

// Names the key that another program uses for something else. Redis only reports that there is one, and until
// it is removed nothing of its seed or tracker is shared.

/** The error to throw instead of an error of a script with these keys: unchanged, if it is not about their types. */
async function explainWrongType(
  connection: RedisConnection,
  keys: readonly string[],
  error: SynclineError,
): Promise<SynclineError> {
  if (!error.message.includes('WRONGTYPE')) return error;
  for (const key of keys) {
    const found = text(await connection.call('TYPE', [key])) ?? 'none';
    const wanted = typeOf(key);
    if (found === 'none' || found === wanted) continue;
    return new SynclineError(
      'unavailable',
      `the key ${key} in Redis is a ${found}, where fair keeps a ${wanted}: another program wrote it, so nothing is shared there. Delete the key (DEL '${key}'), or use a separate Redis for fair.`,
      { retryable: false, cause: error, details: { key } },
    );
  }
  return error;
}

function typeOf(key: string): string {
  const name = key.slice(key.lastIndexOf(':') + 1);
  if (name === 'rows' || name === 'seeds') return 'set';
  if (name === 'clients' || name === 'instances') return 'zset';
  return name === 'epoch' || name === 'config' || name === 'active' ? 'string' : 'hash';
}

// A call to Redis, repeated until its outcome is known. A repeated call must be idempotent: changes by their
// sequence number, everything else by its nature.
//
// The failure is reported when the budget ends or Redis counts as lost: with `unknown` if any attempt was sent
// and not answered.

const BACKOFF = { initialMs: 20, maxMs: 500 } as const;

export interface RepeatedCallDeps extends RedisDeps {
  readonly connection: RedisConnection;
}

export interface Answer<T> {
  readonly value: T;
  /** An earlier attempt may have been applied. */
  readonly wasRepeated: boolean;
}

/** `wasBegun`: an earlier part of the same change was sent, so no failure is `not-applied`. */
export async function repeatedCall<T>(
  { clock, random, metrics, connection }: RepeatedCallDeps,
  { budgetMs, wasBegun = false }: { readonly budgetMs: number; readonly wasBegun?: boolean },
  attempt: () => Promise<T>,
): Promise<Answer<T>> {
  const { reachability } = connection;
  const endMs = clock.monotonicMs() + budgetMs;
  let isUnknown = false;
  for (let attempts = 0; ; attempts += 1) {
    try {
      if (reachability.isLost) {
        throw isUnknown || wasBegun ? lostError() : connection.unreachable('; nothing was sent');
      }
      return { value: await attempt(), wasRepeated: isUnknown };
    } catch (thrown) {
      const error = SynclineError.from(thrown);
      isUnknown ||= error.outcome === 'unknown';
      if (!error.retryable || reachability.isLost || clock.monotonicMs() >= endMs) {
        metrics.add('syncline_fair_store_errors_total', 1, { store: 'redis' });
        throw isUnknown || wasBegun ? asUnknown(error) : error;
      }
    }
    await clock.sleep(backoffMs(attempts, BACKOFF, random));
  }
}

function lostError(): SynclineError {
  return new SynclineError(
    'unavailable',
    'the connection to Redis was lost after an attempt was sent; whether it was applied is unknown',
    { outcome: 'unknown' },
  );
}

/** The same error for a change that was, or may have been, applied. */
export function asUnknown(error: SynclineError): SynclineError {
  if (error.outcome === 'unknown') return error;
  const { code, message, retryable, details } = error;
  return new SynclineError(code, message, { retryable, details, outcome: 'unknown', cause: error });
}
