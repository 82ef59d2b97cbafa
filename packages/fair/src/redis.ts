export type { RedisSettings, RedisSource } from './redis/redis-client.js';
export {
  createRedisFairStore,
  type RedisFairStore,
  type RedisFairStoreDeps,
  type RedisFairStoreOptions,
} from './redis/redis-fair-store.js';
export { type RedisRemoteOptions, redisRemote } from './redis/redis-remote.js';
