import { expect, test } from 'vitest';
import { parsePeerAddress } from './peer-address.js';

test('a peer is an id, a host and a port', () => {
  expect(parsePeerAddress('2@10.0.0.2:7403')).toEqual({ nodeId: 2, host: '10.0.0.2', port: 7403 });
  expect(parsePeerAddress('65535@node-b.example:1')).toMatchObject({ host: 'node-b.example' });
  expect(parsePeerAddress('3@[fe80::1]:7403')).toMatchObject({ host: 'fe80::1', port: 7403 });
});

test.each([
  '',
  '2',
  '10.0.0.2:7403',
  '0@host:7403',
  '65536@host:7403',
  '2@host',
  '2@host:0',
  '2@host:65536',
  '2@::1:7403',
  '2@ho st:7403',
  ' 2@host:7403',
])('%j is not a peer', (text) => {
  expect(parsePeerAddress(text)).toBeUndefined();
});
