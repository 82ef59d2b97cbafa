// The entry point `@syncline/fair/redis`: what needs ioredis, which is an optional peer.
export {
  createFairStorageService,
  type FairStorageOptions,
  type FairStorageService,
} from './redis/fair-storage-service.js';
export type { RedisSettings, RedisSource } from './redis/redis-client.js';
export {
  createRedisFairStore,
  type RedisFairStore,
  type RedisFairStoreDeps,
  type RedisFairStoreOptions,
} from './redis/redis-fair-store.js';
export { type RedisRemoteOptions, redisRemote } from './redis/redis-remote.js';
export type { BucketDelta, OverwriteBucket, RespBucket, Update } from './redis/storage-buckets.js';
