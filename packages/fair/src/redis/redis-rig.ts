// For tests: stores on a real Redis, and a connection to inspect it. The test starts the server.
import {
  createSystemClock,
  createSystemRandom,
  silentLogger,
  silentMetrics,
} from '@syncline/kernel';
import { Redis } from 'ioredis';
import {
  createRedisFairStore,
  type RedisFairStore,
  type RedisFairStoreDeps,
} from './redis-fair-store.js';

const deps: RedisFairStoreDeps = {
  clock: createSystemClock(),
  random: createSystemRandom(),
  logger: silentLogger,
  metrics: silentMetrics,
};

export class RedisRig implements AsyncDisposable {
  readonly #server: AsyncDisposable & { readonly url: string };
  #stores: RedisFairStore[] = [];
  readonly admin: Redis;

  constructor(server: AsyncDisposable & { readonly url: string }) {
    this.#server = server;
    this.admin = new Redis(server.url);
  }

  openStore(other: Partial<RedisFairStoreDeps> = {}): RedisFairStore {
    const store = createRedisFairStore({ url: this.#server.url }, { ...deps, ...other });
    this.#stores.push(store);
    return store;
  }

  /** Between tests: no store, and nothing stored. */
  async reset(): Promise<void> {
    await Promise.all(this.#stores.map((store) => store.close()));
    this.#stores = [];
    await this.admin.flushall();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.admin.disconnect();
    await this.#server[Symbol.asyncDispose]();
  }
}
