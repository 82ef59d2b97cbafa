// The transport of `redisRemote`: carries messages between the client of a tracker and a state service in the
// same process, on top of Redis.

import type { ClientStream, StateStreamListener, StateTransport } from '../client/fair-remote.js';
import type { FairStore } from '../state/fair-store.js';
import { StateService } from '../state/state-service.js';
import { InProcessStream } from './in-process-stream.js';
import type { RedisDeps } from './redis-connection.js';
import {
  createRedisFairStore,
  type RedisFairStore,
  type RedisFairStoreOptions,
} from './redis-fair-store.js';

export type RedisTransportOptions = RedisFairStoreOptions & {
  readonly scriptNowMs?: () => number;
};

export class RedisTransport implements StateTransport {
  readonly #deps: RedisDeps;
  readonly #store: RedisFairStore;
  readonly #service: StateService;

  constructor(deps: RedisDeps, options: RedisTransportOptions) {
    const { scriptNowMs } = options;
    this.#deps = deps;
    this.#store = createRedisFairStore(options, scriptNowMs ? { ...deps, scriptNowMs } : deps);
    this.#service = new StateService({ ...deps, store: namedOnly(this.#store) });
  }

  open(listener: StateStreamListener): ClientStream {
    return new InProcessStream(
      { clock: this.#deps.clock, logger: this.#deps.logger, store: this.#store },
      this.#service,
      listener,
    );
  }

  async close(): Promise<void> {
    await this.#service.close();
    await this.#store.close();
  }
}

/** Our only stream sends a hello, so the default namespace in the same Redis need not be read. */
function namedOnly(store: RedisFairStore): FairStore {
  return {
    applyDelta: (namespace, seed, deltas, id) => store.applyDelta(namespace, seed, deltas, id),
    joinView: (namespace, seed, cells) => store.joinView(namespace, seed, cells),
    getSeed: (namespace, seed) => store.getSeed(namespace, seed),
    evictBefore: (namespace, seed) =>
      namespace.name === '' ? 0 : store.evictBefore(namespace, seed),
    seeds: (namespace) => (namespace.name === '' ? [] : store.seeds(namespace)),
    forget: (namespace, seed) => store.forget(namespace, seed),
    shared: store.shared,
    watch: (namespace, onChange) =>
      namespace.name === '' ? { close() {} } : store.watch(namespace, onChange),
    close: () => store.close(),
  };
}
