// Shared by the tests of managers: stores that misbehave on purpose, and schemas without a library.
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { JobEvent, JobStore, JobSubscription } from '../job-store.js';

/** The same store with some calls replaced. */
export function overrideStore(store: JobStore, overrides: Partial<JobStore>): JobStore {
  return new Proxy(store, {
    get(target, name) {
      const own: unknown = Reflect.get(overrides, name);
      if (own !== undefined) return own;
      const found: unknown = Reflect.get(target, name, target);
      return typeof found === 'function' ? (found.bind(target) as unknown) : found;
    },
  });
}

/** The same subscription with these events, read one by one or in batches of one. */
export function overrideEvents(
  source: JobSubscription,
  events: () => AsyncIterable<JobEvent>,
): JobSubscription {
  return {
    [Symbol.asyncIterator]: () => events()[Symbol.asyncIterator](),
    async *batches() {
      for await (const event of events()) yield [event];
    },
    cursor: undefined,
    [Symbol.asyncDispose]: () => source[Symbol.asyncDispose](),
  };
}

/** Calls `read`; an error it throws becomes an issue. */
export function schemaOf<Input, Output>(
  read: (value: Input) => Output | Promise<Output>,
): StandardSchemaV1<Input, Output> {
  const failed = (thrown: unknown) => ({
    issues: [{ message: thrown instanceof Error ? thrown.message : String(thrown) }],
  });
  return {
    '~standard': {
      version: 1,
      vendor: 'test',
      async validate(value) {
        try {
          return { value: await read(value as Input) };
        } catch (thrown) {
          return failed(thrown);
        }
      },
    },
  };
}
