// Commands to Redis, each answered or failed within its deadline, with an accurate outcome: refused or never
// sent is `not-applied`; sent and not answered is `unknown`.
//
// A command that misses its deadline also ends the connection: answers arrive in order, so nothing behind it
// would be in time either.
import {
  type Clock,
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
import type { RedisScript } from './redis-script.js';
import { namingWrongType } from './wrong-type.js';

export interface RedisDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics<FairMetricName>;
}

export type RedisArgument = string | number | Buffer;

const LOST_AFTER_MS = 1_000;
const PROBE_INTERVAL_MS = 200;
/** Keys of another type that are reported once; further ones are reported each time. */
const WRONG_KEYS_MAX = 100;

export class RedisConnection {
  readonly #deps: RedisDeps;
  readonly #client: Redis;
  readonly reachability: Reachability;
  readonly #wrongKeys = new Set<string>();
  #isClosed = false;
  #isUp: boolean | undefined;

  constructor(deps: RedisDeps, source: RedisSource) {
    this.#deps = deps;
    this.reachability = new Reachability(
      { clock: deps.clock, probe: () => void this.#probe() },
      { lostAfterMs: LOST_AFTER_MS, probeIntervalMs: PROBE_INTERVAL_MS },
    );
    this.#client = createClient(source, deps.random);
    this.#client.on('ready', () => void this.#probe());
    this.#client.on('close', () => this.#note(false));
    this.#client.on('error', (error: Error) => {
      deps.logger.debug('connection to redis failed', { slice: 'fair', error: error.message });
    });
    this.reachability.failed(); // until the first answer
  }

  /** Resolves to the reply, with texts as bytes. */
  async call(command: string, args: readonly RedisArgument[]): Promise<unknown> {
    if (this.#isClosed) throw new SynclineError('closed', 'the connection to Redis was closed');
    if (this.#client.status !== 'ready') {
      this.#note(false);
      throw new SynclineError(
        'unavailable',
        'Redis is unreachable. Check that it is running, and its address; fair keeps trying.',
      );
    }
    const reply = await this.#inTime(this.#client.callBuffer(command, [...args]));
    this.#note(true);
    return reply;
  }

  /** Calls the script by its hash, or by its text if Redis does not have it. */
  async script(
    { sha1, text }: RedisScript,
    keys: readonly string[],
    args: readonly RedisArgument[],
  ): Promise<unknown> {
    const rest = [keys.length, ...keys, ...args];
    try {
      return await this.call('EVALSHA', [sha1, ...rest]);
    } catch (thrown) {
      if (!(thrown instanceof SynclineError)) throw thrown;
      if (!thrown.message.includes('NOSCRIPT')) throw await this.#explain(keys, thrown);
      this.#deps.metrics.add('syncline_fair_redis_eval_fallbacks_total');
      return await this.call('EVAL', [text, ...rest]);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.reachability.close();
    this.#client.disconnect();
  }

  /** Logged once per key, because the calls of every client fail alike. */
  async #explain(keys: readonly string[], thrown: SynclineError): Promise<SynclineError> {
    const error = await namingWrongType(this, keys, thrown);
    const { key } = error.details;
    if (typeof key !== 'string' || this.#wrongKeys.has(key)) return error;
    if (this.#wrongKeys.size < WRONG_KEYS_MAX) this.#wrongKeys.add(key);
    this.#deps.logger.error(error.message, { slice: 'fair', key });
    return error;
  }

  async #inTime(reply: Promise<unknown>): Promise<unknown> {
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
    if (this.#isUp === isUp) return;
    this.#isUp = isUp;
    this.#deps.metrics.set('syncline_fair_redis_connected', isUp ? 1 : 0);
    this.#deps.logger.info(isUp ? 'redis answers' : 'redis does not answer', { slice: 'fair' });
  }
}
