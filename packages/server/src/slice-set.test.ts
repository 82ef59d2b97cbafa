import { AssertionError } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { assertSlices, usedListeners } from './slice-set.js';
import { EchoSlice } from './testing/echo-slice.js';

test('only what a slice uses is opened, and HTTP last', () => {
  expect(usedListeners([])).toEqual(['http']);
  expect(usedListeners([new EchoSlice({ listeners: ['grpc'] })])).toEqual(['grpc', 'http']);
  expect(
    usedListeners([
      new EchoSlice({ name: 'one', listeners: ['resp', 'mesh'] }),
      new EchoSlice({ name: 'two', listeners: ['grpc'] }),
    ]),
  ).toEqual(['mesh', 'grpc', 'resp', 'http']);
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
])('slices that cannot live together are a bug', (slices) => {
  expect(() => assertSlices(slices)).toThrow(AssertionError);
});
