import { createSeededRandom } from '@syncline/kernel/testing';
import type { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { createClient, type RedisSettings } from './redis-client.js';

test('however long Redis is unreachable, it is retried within 300 ms', () => {
  let settings: RedisSettings = {};
  const client = (given: RedisSettings) => {
    settings = given;
    return {} as Redis;
  };
  createClient({ client }, createSeededRandom(1));
  const waitsMs = Array.from({ length: 200 }, (_, index) => settings.retryStrategy?.(index + 1));
  for (const waitMs of waitsMs) {
    expect(waitMs).toBeGreaterThanOrEqual(20);
    expect(waitMs).toBeLessThanOrEqual(300);
  }
});
