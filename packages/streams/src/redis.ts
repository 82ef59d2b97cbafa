// Entry point `@syncline/streams/redis`: everything that needs ioredis, which is an optional peer dependency.

export type { RedisServer, RedisSettings } from './ends/redis-connection.js';
export { type KvWrite, type RedisKvSinkOptions, redisKvSink } from './ends/redis-kv-sink.js';
export { type RedisStreamSinkOptions, redisStreamSink } from './ends/redis-stream-sink.js';
export {
  type RedisEntry,
  type RedisPosition,
  type RedisStreamSourceOptions,
  redisStreamSource,
} from './ends/redis-stream-source.js';
