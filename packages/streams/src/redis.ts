// The door `@syncline/streams/redis`: what needs ioredis, which is an optional peer.

export type { RedisServer, RedisSettings } from './ends/redis-connection.js';
export { type KvWrite, type RedisKvSinkOptions, redisKvSink } from './ends/redis-kv-sink.js';
export { type RedisStreamSinkOptions, redisStreamSink } from './ends/redis-stream-sink.js';
export {
  type RedisEntry,
  type RedisPosition,
  type RedisStreamSourceOptions,
  redisStreamSource,
} from './ends/redis-stream-source.js';
