// Lets a test see every call of a sink, before it and after it.
import type { OutboxSink, Sink } from '../ends/sink.js';

export type Around = <T>(name: string, call: () => Promise<T>) => Promise<T>;

/** A sink that does what `sink` does, with `around` around each call. */
export function observe<S extends Sink<unknown> | OutboxSink>(sink: S, around: Around): S {
  return new Proxy(sink, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...args: readonly unknown[]) => {
        const call = () => Promise.resolve(Reflect.apply(value, target, args));
        return around(`sink ${String(name)}`, call);
      };
    },
  });
}
