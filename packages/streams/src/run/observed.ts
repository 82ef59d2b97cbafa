// Lets a test intercept every call of a sink and every acknowledgement of a source.
import type { OutboxSink, Sink } from '../ends/sink.js';
import type { Source } from '../ends/source.js';

export type Around = <T>(name: string, call: () => Promise<T>) => Promise<T>;

/** Wraps each call of the sink in `around`. */
export function observeSink<S extends Sink<unknown> | OutboxSink>(sink: S, around: Around): S {
  return observe(
    sink,
    (name, call) => around(`sink ${name}`, call),
    () => true,
  );
}

/** Wraps each acknowledgement of the source in `around`. */
export function observeAcks(source: Source<unknown>, around: Around): Source<unknown> {
  return observe(
    source,
    (name, call) => around(`source ${name}`, call),
    (name) => name === 'ack',
  );
}

function observe<T extends object>(
  subject: T,
  around: Around,
  isObserved: (name: string | symbol) => boolean,
): T {
  return new Proxy(subject, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      const call = (...args: readonly unknown[]): unknown => Reflect.apply(value, target, args);
      if (!isObserved(name)) return call;
      return (...args: readonly unknown[]) => around(String(name), async () => await call(...args));
    },
  });
}
