// What all who share a tracker over Redis agree on: its configuration, its epoch, and who is alive.
//
// The epoch lives in Redis, beside the cells, and goes when they go: after FLUSHALL the next greeting makes
// another one, and clients that hold the old one are asked for their views. All of it expires after three
// windows in which nobody was alive, as the cells do.
import { SynclineError } from '@syncline/kernel';
import { fairLimits } from '../limits.js';
import type { Namespace, SharedTrackers } from '../state/fair-store.js';
import type { WireTrackerConfig } from '../wire/sync-messages.js';
import type { RedisArgument, RedisConnection, RedisDeps } from './redis-connection.js';
import { trackerKeys } from './redis-keys.js';
import { text, texts } from './redis-reply.js';
import { defineScript, type RedisScript } from './redis-script.js';
import { repeatedCall } from './repeated-call.js';

/** KEYS 1 epoch, 2 config; ARGV 1 an epoch and 2 a config if there is none yet, 3 time to live in ms. */
const greetScript = defineScript(`
redis.call('SET', KEYS[1], ARGV[1], 'NX')
redis.call('SET', KEYS[2], ARGV[2], 'NX')
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return { redis.call('GET', KEYS[1]), redis.call('GET', KEYS[2]) }
`);

/** KEYS 1 instances, 2 epoch, then what stays as long as someone lives; ARGV 1 ttl, 2 expiry, 3 now or '', ids… */
const keepAliveScript = defineScript(`
local now = tonumber(ARGV[3])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now))
for index = 4, #ARGV do
  redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[2]), ARGV[index])
end
for index = 1, #KEYS do redis.call('PEXPIRE', KEYS[index], ARGV[1]) end
return { tostring(redis.call('ZCARD', KEYS[1])), redis.call('GET', KEYS[2]) or '' }
`);

export interface SharedEpochsDeps extends RedisDeps {
  readonly connection: RedisConnection;
  readonly nowMs: (() => number) | undefined;
}

export class SharedEpochs implements SharedTrackers {
  readonly #deps: SharedEpochsDeps;
  readonly #options: { readonly retryBudgetMs: number };
  readonly #epochs = new Map<string, string>();

  constructor(deps: SharedEpochsDeps, options: { readonly retryBudgetMs: number }) {
    this.#deps = deps;
    this.#options = options;
  }

  async greet(
    namespace: Namespace,
    config: WireTrackerConfig,
  ): Promise<{ readonly epoch: number }> {
    const keys = trackerKeys(namespace);
    const reply = await this.#script(
      greetScript,
      [keys.epoch, keys.config],
      [this.#newEpoch(), formatConfig(config), timeToLiveMs(namespace)],
    );
    const [epoch = '', bound = '{}'] = texts(reply);
    checkConfig(namespace.name, bound, formatConfig(config));
    this.#epochs.set(namespace.name, epoch);
    return { epoch: Number(epoch) };
  }

  async keepAlive(namespace: Namespace, clientIds: readonly string[]): Promise<number> {
    const { nowMs } = this.#deps;
    const { instances, epoch, config, seeds, active } = trackerKeys(namespace);
    const reply = await this.#script(
      keepAliveScript,
      [instances, epoch, config, seeds, active],
      [
        timeToLiveMs(namespace),
        fairLimits.redisInstanceExpiryMs.value,
        nowMs?.() ?? '',
        ...clientIds,
      ],
    );
    const [count, current] = texts(reply);
    this.#compare(namespace, current ?? '');
    return Number(count);
  }

  onReachable(listener: (isReachable: boolean) => void): { close(): void } {
    return this.#deps.connection.reachability.listen(listener);
  }

  /** Keys of a seed have begun anew. If the epoch is another one too, or there is none, all is lost. */
  async keysLost(namespace: Namespace): Promise<void> {
    if (namespace.name === '') {
      this.#deps.connection.reachability.stateLost();
      return;
    }
    try {
      const reply = await this.#deps.connection.call('GET', [trackerKeys(namespace).epoch]);
      this.#compare(namespace, text(reply) ?? '');
    } catch (thrown) {
      // Redis is away; `keepAlive` compares again.
      const error = SynclineError.from(thrown).message;
      this.#deps.logger.debug('the epoch could not be read', { slice: 'fair', error });
    }
  }

  async #script(
    script: RedisScript,
    keys: readonly string[],
    args: readonly RedisArgument[],
  ): Promise<unknown> {
    const attempt = () => this.#deps.connection.script(script, keys, args);
    return (await repeatedCall(this.#deps, this.#options.retryBudgetMs, attempt)).value;
  }

  #compare(namespace: Namespace, current: string): void {
    const known = this.#epochs.get(namespace.name);
    if (known === undefined || known === current) return;
    this.#epochs.delete(namespace.name);
    this.#deps.logger.warn('redis has lost the shared state, views are joined', {
      slice: 'fair',
      tracker: namespace.name,
    });
    this.#deps.connection.reachability.stateLost();
  }

  #newEpoch(): string {
    const { random } = this.#deps;
    return String(1 + (random.u32() % 2 ** 20) * 2 ** 32 + random.u32());
  }
}

export function timeToLiveMs({ windowMs }: Namespace): number {
  return 3 * windowMs;
}

/** What must be the same everywhere. Increment and decrement may differ: tuning is rolled out in stages. */
function formatConfig(config: WireTrackerConfig): string {
  const { levels, columns, policy, ratePerSecond, windowMs, hash, keyCheck } = config;
  return JSON.stringify({
    levels,
    columns,
    policy,
    rate_per_second: ratePerSecond,
    window_ms: windowMs,
    hash,
    key_check: keyCheck.toString(16),
  });
}

function checkConfig(tracker: string, bound: string, ours: string): void {
  const boundFields = fieldsOf(bound);
  for (const [field, value] of fieldsOf(ours)) {
    const there = boundFields.get(field);
    if (there === value) continue;
    const shown = field === 'key_check' ? '' : ` (${there} there, ${value} here)`;
    throw new SynclineError(
      'conflict',
      `tracker "${tracker}" is bound to another ${field}${shown}. Give all instances the same options and secret, or use another tracker name, as in "${tracker}@2".`,
      { details: { reason: 'config', field } },
    );
  }
}

/** None if someone else has written there. */
function fieldsOf(config: string): ReadonlyMap<string, string> {
  const fields = config.matchAll(/"([a-z_]+)":"?([^",}]*)/g);
  return new Map(Array.from(fields, ([, field = '', value = '']) => [field, value]));
}
