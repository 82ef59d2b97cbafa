// Calls of the script that changes cells: one after another per seed, each until its outcome is known.
//
// A call that was cut off may have been applied. It is resent under the same sequence number, which the script
// applies once, so a repeat is always safe.
import { KeyedQueue, SynclineError } from '@syncline/kernel';
import { fairLimits } from '../limits.js';
import type { ChangeId, Namespace } from '../state/fair-store.js';
import { applyScript } from './apply-script.js';
import type { ChangePart } from './change-batch.js';
import {
  type Answer,
  asUnknown,
  type RedisArgument,
  type RedisConnection,
  type RedisDeps,
  repeatedCall,
} from './redis-connection.js';
import { seedKeys } from './redis-keys.js';
import { readSeedChange, type SeedChange } from './seed-change.js';
import { DefaultRoom, type SeedRegister } from './seed-register.js';
import { timeToLiveMs } from './shared-epochs.js';

export interface ScriptCallsDeps extends RedisDeps {
  readonly connection: RedisConnection;
  readonly register: SeedRegister;
  readonly nowMs: (() => number) | undefined;
}

export interface ScriptCallsOptions {
  readonly origin: string;
  readonly retryBudgetMs: number;
}

/** One call: part `part` of `parts` of the change that `id` names. */
export interface ScriptCall {
  readonly namespace: Namespace;
  readonly seed: bigint;
  readonly id: ChangeId;
  readonly changes: ChangePart;
  readonly part: number;
  readonly parts: number;
}

export class ScriptCalls {
  readonly #deps: ScriptCallsDeps;
  readonly #options: ScriptCallsOptions;
  readonly #room: DefaultRoom;
  readonly #queue = new KeyedQueue();

  constructor(deps: ScriptCallsDeps, options: ScriptCallsOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#room = new DefaultRoom(deps);
  }

  /** Runs tasks of a seed in the order of their calls, one at a time. */
  inTurn<T>(namespace: Namespace, seed: bigint, task: () => Promise<T>): Promise<T> {
    return this.#queue.run(seedKeys(namespace, seed).meta, task);
  }

  async apply(call: ScriptCall): Promise<Answer<SeedChange>> {
    const { clock, metrics } = this.#deps;
    const startMs = clock.monotonicMs();
    const answer = await this.repeated(() => this.#attempt(call), call.part > 1);
    const tookMs = clock.monotonicMs() - startMs;
    metrics.observe('syncline_fair_redis_update_seconds', tookMs / 1_000);
    return answer;
  }

  repeated<T>(attempt: () => Promise<T>, wasBegun = false): Promise<Answer<T>> {
    const { retryBudgetMs: budgetMs } = this.#options;
    return repeatedCall(this.#deps, { budgetMs, wasBegun }, attempt);
  }

  async #attempt(call: ScriptCall): Promise<SeedChange> {
    const { register } = this.#deps;
    const { namespace, seed } = call;
    const isListed = register.isListed(namespace, seed);
    if (!isListed) await register.admit(namespace, seed);
    const change =
      namespace.name === ''
        ? await this.#room.take(call.changes.cellsCount, (room) => this.#send(call, room))
        : await this.#send(call, '');
    try {
      if (change.n === 1) await register.list(namespace, seed);
      if (!isListed) await register.keepRows(namespace, seed);
    } catch (thrown) {
      throw asUnknown(SynclineError.from(thrown)); // the change itself was applied
    }
    return change;
  }

  async #send(call: ScriptCall, room: number | ''): Promise<SeedChange> {
    const { connection, nowMs, random } = this.#deps;
    const { namespace, seed, changes, id, part, parts } = call;
    const { rule } = namespace;
    const keys = seedKeys(namespace, seed);
    const args: RedisArgument[] = [changes.places, changes.changes];
    args.push(rule.policy, rule.policy === 'sum' ? 0 : rule.ratePerSecond);
    args.push(timeToLiveMs(namespace), keys.channel, nowMs?.() ?? '');
    args.push(id.clientId, id.seq, part, parts, this.#options.origin, random.u32().toString(36));
    args.push(room, fairLimits.clientIdsMax.value, fairLimits.redisClientIdKeptMs.value);
    const rows = changes.rows.map((row) => keys.row(row));
    const all = [keys.meta, keys.rows, keys.clients, ...rows];
    const reply = await connection.script(applyScript, all, args);
    if (!(reply instanceof Uint8Array))
      throw new SynclineError('corrupt', 'Redis did not return a string');
    return readSeedChange(reply, rule.policy === 'sum');
  }
}
