import { expect, test } from 'vitest';
import { redisHint } from './redis-hint.js';

const resp = { listener: 'resp', host: '127.0.0.1', port: 7402 } as const;
const plain = { isTls: false, hasPassword: false };

test('the first command writes, the second one reads', () => {
  expect(redisHint([resp], undefined, plain).map(({ command }) => command)).toEqual([
    'redis-cli -p 7402 sadd fruits apple pear',
    'redis-cli -p 7402 smembers fruits',
  ]);
  expect(redisHint([], undefined, plain)).toEqual([]);
});

test('in a cluster, the second command reads from another node', () => {
  const hints = redisHint([resp], [{ ...resp, port: 7412 }], plain);
  expect(hints.map(({ command }) => command)).toEqual([
    'redis-cli -p 7402 sadd fruits apple pear',
    'redis-cli -p 7412 smembers fruits',
  ]);
});

test('the commands reflect TLS, a password and another address, but do not contain the password', () => {
  const far = [{ ...resp, host: '10.0.0.7' }];
  expect(redisHint(far, undefined, { isTls: true, hasPassword: true })[1]).toEqual({
    command: 'redis-cli --tls -h 10.0.0.7 -p 7402 --askpass smembers fruits',
    remarks: ['with --cacert FILE, if the certificate is signed by a private CA'],
  });
  expect(redisHint([{ ...resp, host: '0.0.0.0' }], undefined, plain)[1]).toEqual({
    command: 'redis-cli -p 7402 smembers fruits',
    remarks: [],
  });
});
