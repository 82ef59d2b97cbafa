// What all instances that share a tracker through Redis agree on: its configuration, its epoch, and which of
// them are alive.
//
// The epoch is stored in Redis, beside the cells, and is lost with them: after FLUSHALL the next hello creates
// another one, and clients with the old one are asked for their views. Like the cells, all of it expires after
// three windows without a live instance; refused instances do not count as alive.
//
// We keep the epoch of each tracker. A different one in Redis means that everything was lost, unless ours is so
// old that it may have expired. The default tracker has an epoch too, created when its first seed is listed.
import { type Random, SynclineError } from '@syncline/kernel';
import { fairLimits } from '../limits.js';
import type { Namespace, SharedTrackers } from '../state/fair-store.js';
import { BOUND_FIELDS, configConflict } from '../state/hello-checks.js';
import type { WireTrackerConfig } from '../wire/sync-messages.js';
import {
  defineScript,
  type RedisArgument,
  type RedisConnection,
  type RedisDeps,
  type RedisScript,
  repeatedCall,
  text,
  texts,
} from './redis-connection.js';
import { trackerKeys } from './redis-keys.js';

/**
 * KEYS 1 epoch, 2 config; ARGV 1 an epoch, 2 our config, 3 time to live in ms. Answers the epoch, or '' and the
 * config that is bound instead of ours. Values that no Syncline service has written are overwritten.
 */
const greetScript = defineScript(`
local bound = redis.call('GET', KEYS[2])
if bound and bound ~= ARGV[2] and string.find(bound, '"key_check":', 1, true) then return { '', bound } end
local epoch = redis.call('GET', KEYS[1])
if not epoch or not string.find(epoch, '^[1-9]%d*$') or #epoch > 16 then epoch = ARGV[1] end
redis.call('SET', KEYS[1], epoch, 'PX', ARGV[3])
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
return { epoch, ARGV[2] }
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

interface KnownEpoch {
  readonly epoch: string;
  /** Until then, by our monotonic clock, it cannot have expired. */
  readonly keptUntilMs: number;
}

export class SharedEpochs implements SharedTrackers {
  readonly #deps: SharedEpochsDeps;
  readonly #options: { readonly retryBudgetMs: number };
  readonly #epochs = new Map<string, KnownEpoch>();

  constructor(deps: SharedEpochsDeps, options: { readonly retryBudgetMs: number }) {
    this.#deps = deps;
    this.#options = options;
    // The state is read again afterwards, so an earlier epoch must not be compared with it.
    this.onReachable((isReachable) => !isReachable && this.#epochs.clear());
  }

  async greet(
    namespace: Namespace,
    config: WireTrackerConfig,
  ): Promise<{ readonly epoch: number }> {
    const keys = [trackerKeys(namespace).epoch, trackerKeys(namespace).config];
    let ours = formatConfig(config);
    for (;;) {
      const args = [drawEpoch(this.#deps.random), ours, timeToLiveMs(namespace)];
      const [epoch = '', bound = ''] = texts(await this.#script(greetScript, keys, args));
      if (epoch !== '') {
        this.noteEpoch(namespace, epoch);
        return { epoch: Number(epoch) };
      }
      checkConfig(namespace.name, bound, ours);
      ours = bound; // the same, written in another way
    }
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
    this.noteEpoch(namespace, current ?? '');
    return Number(count);
  }

  async left(namespace: Namespace, clientId: string): Promise<void> {
    await this.#deps.connection.call('ZREM', [trackerKeys(namespace).instances, clientId]);
  }

  onReachable(listener: (isReachable: boolean) => void): { close(): void } {
    return this.#deps.connection.reachability.listen(listener);
  }

  /** Keys of a seed have started over. False: only those, since the epoch is unchanged. */
  async keysLost(namespace: Namespace): Promise<boolean> {
    const isKnown = this.#epochs.has(namespace.name);
    const epoch = await this.#read(namespace);
    if (epoch === undefined) return true; // Redis is unreachable; its state is read again afterwards
    if (isKnown) return this.noteEpoch(namespace, epoch);
    this.#deps.connection.reachability.stateLost();
    return true;
  }

  /** Reads the epoch of a namespace whose seeds we are about to read, so that a change is noticed later. */
  async loadEpoch(namespace: Namespace): Promise<void> {
    const epoch = await this.#read(namespace);
    if (epoch !== undefined && epoch !== '') this.noteEpoch(namespace, epoch);
  }

  /** Takes the current epoch in Redis, '' for none. True if it means that everything was lost. */
  noteEpoch(namespace: Namespace, epoch: string): boolean {
    const { clock, connection, logger } = this.#deps;
    const nowMs = clock.monotonicMs();
    const known = this.#epochs.get(namespace.name);
    for (const [name, { keptUntilMs }] of this.#epochs)
      if (keptUntilMs <= nowMs) this.#epochs.delete(name);
    const isLost = known !== undefined && known.epoch !== epoch && nowMs < known.keptUntilMs;
    if (isLost) {
      const tracker = namespace.name;
      logger.warn('Redis lost the shared state; merging the views of the instances', {
        slice: 'fair',
        tracker,
      });
      connection.reachability.stateLost(); // forgets what we knew
    }
    const keptUntilMs = nowMs + timeToLiveMs(namespace);
    if (epoch !== '') this.#epochs.set(namespace.name, { epoch, keptUntilMs });
    return isLost;
  }

  /** Also refreshes its expiry. */
  async #read(namespace: Namespace): Promise<string | undefined> {
    const args = [trackerKeys(namespace).epoch, 'PX', timeToLiveMs(namespace)];
    try {
      return text(await this.#deps.connection.call('GETEX', args)) ?? '';
    } catch (thrown) {
      const error = SynclineError.from(thrown).message;
      this.#deps.logger.debug('the epoch could not be read', { slice: 'fair', error });
      return undefined;
    }
  }

  async #script(
    script: RedisScript,
    keys: readonly string[],
    args: readonly RedisArgument[],
  ): Promise<unknown> {
    const attempt = () => this.#deps.connection.script(script, keys, args);
    const { retryBudgetMs: budgetMs } = this.#options;
    return (await repeatedCall(this.#deps, { budgetMs }, attempt)).value;
  }
}

/** Random, so that an epoch created after a loss differs from the one before. */
export function drawEpoch(random: Random): string {
  return String(1 + (random.u32() % 2 ** 20) * 2 ** 32 + random.u32());
}

export function timeToLiveMs({ windowMs }: Namespace): number {
  return 3 * windowMs;
}

/** Settings that must be the same everywhere, in a fixed order. */
function formatConfig(config: WireTrackerConfig): string {
  const fields = Object.entries(BOUND_FIELDS).map(([field, key]) => {
    const value = config[key];
    return [field, typeof value === 'bigint' ? value.toString(16) : value];
  });
  return JSON.stringify(Object.fromEntries(fields));
}

function checkConfig(tracker: string, bound: string, ours: string): void {
  const boundFields = fieldsOf(bound);
  for (const [field, value] of fieldsOf(ours)) {
    const there = boundFields.get(field);
    if (there === value) continue;
    throw configConflict(tracker, field, { there, here: value });
  }
}

function fieldsOf(config: string): ReadonlyMap<string, string> {
  const fields = config.matchAll(/"([a-z_]+)":"?([^",}]*)/g);
  return new Map(Array.from(fields, ([, field = '', value = '']) => [field, value]));
}
