import { AssertionError } from '@syncline/kernel';
import { expect, test } from 'vitest';
import type { ServerConfig } from './config/server-config.js';
import { assertSlices, usedListeners } from './slice-set.js';
import { EchoSlice } from './testing/echo-slice.js';
import { testConfig } from './testing/test-server.js';

function configOf(peers: ServerConfig['mesh']['peers']): ServerConfig {
  const config = testConfig({ settings: {} });
  return { ...config, mesh: { ...config.mesh, peers } };
}

test('only listeners in use are opened, and HTTP last', () => {
  const alone = configOf([]);
  expect(usedListeners([], alone)).toEqual(['http']);
  expect(usedListeners([new EchoSlice({ listeners: ['grpc'] })], alone)).toEqual(['grpc', 'http']);
  const slices = [
    new EchoSlice({ name: 'one', listeners: ['resp'] }),
    new EchoSlice({ name: 'two', listeners: ['grpc'] }),
  ];
  const peers = [{ nodeId: 2, host: '127.0.0.1', port: 7413 }];
  expect(usedListeners(slices, configOf(peers))).toEqual(['mesh', 'grpc', 'resp', 'http']);
});

test('a disabled listener is not opened', () => {
  const off = { enabled: false };
  const config = testConfig({ settings: { http: off, resp: off } });
  expect(usedListeners([new EchoSlice()], config)).toEqual(['grpc']);
});

test.each([
  [[new EchoSlice({ listeners: [] }), new EchoSlice({ listeners: [] })]],
  [[new EchoSlice({ name: 'Bad/name' })]],
  [[new EchoSlice({ name: 'status' })]],
  [
    [
      new EchoSlice({ name: 'one', listeners: ['resp'] }),
      new EchoSlice({ name: 'two', listeners: ['resp'] }),
    ],
  ],
])('conflicting slices are a bug', (slices) => {
  expect(() => assertSlices(slices)).toThrow(AssertionError);
});
