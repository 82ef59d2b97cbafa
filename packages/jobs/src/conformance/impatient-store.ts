// A store whose callers abandon some calls after a while, as with a deadline. The calls may still take effect.
import { type Clock, SynclineError } from '@syncline/kernel';
import type { SeededRandom } from '@syncline/kernel/testing';
import type { CallOptions, JobStore } from '../job-store.js';

export interface ImpatienceOptions {
  readonly clock: Pick<Clock, 'setTimer'>;
  readonly random: SeededRandom;
  /** The fraction of calls that get a deadline. */
  readonly share: number;
  /** The longest deadline. */
  readonly patienceMs: number;
  /** What happens next. The caller gets what it throws. Default: nothing, and the caller gets `aborted`. */
  onAborted?(): Promise<void>;
}

const HURRIED: ReadonlySet<string | symbol> = new Set([
  'createJob',
  'deleteJob',
  'lease',
  'setState',
]);

type Call = (input: unknown, options: CallOptions) => Promise<unknown>;

export function impatientStore(store: JobStore, options: ImpatienceOptions): JobStore {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      const call = value.bind(target) as Call;
      return HURRIED.has(name) ? hurried(call, options) : call;
    },
  });
}

function hurried(call: Call, options: ImpatienceOptions) {
  const { clock, random, share, patienceMs } = options;
  return async (input: unknown): Promise<unknown> => {
    if (random.float() >= share) return call(input, {});
    const stop = new AbortController();
    const timer = clock.setTimer(random.float() * patienceMs, () => stop.abort());
    try {
      return await call(input, { signal: stop.signal });
    } catch (thrown) {
      const isAborted = thrown instanceof SynclineError && thrown.code === 'aborted';
      if (isAborted) await options.onAborted?.();
      throw thrown;
    } finally {
      timer.cancel();
    }
  };
}
