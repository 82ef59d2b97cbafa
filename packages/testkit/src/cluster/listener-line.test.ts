import { expect, it } from 'vitest';
import { parseListenerLine } from './listener-line.js';

it('reads the line of a listener', () => {
  expect(parseListenerLine('{"listener":"grpc","host":"127.0.0.1","port":7401}')).toEqual({
    listener: 'grpc',
    address: { host: '127.0.0.1', port: 7401 },
  });
});

it('passes over every other line', () => {
  for (const line of ['', 'hello', '{', '{}', '[1]', '{"listener":"ftp","host":"x","port":1}'])
    expect(parseListenerLine(line)).toBeUndefined();
  expect(parseListenerLine('{"listener":"http","host":"x","port":"1"}')).toBeUndefined();
  const logged =
    '{"level":"info","listener":"http","host":"127.0.0.1","port":7400,"msg":"listening"}';
  expect(parseListenerLine(logged)).toBeUndefined();
});
