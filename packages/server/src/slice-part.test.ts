import {
  createMemoryStorage,
  createSystemClock,
  createSystemRandom,
  silentMetrics,
} from '@syncline/kernel';
import { expect, test } from 'vitest';
import { SlicePart, type SlicePartDeps } from './slice-part.js';
import { EchoSlice } from './testing/echo-slice.js';
import { type LogLine, recordingLogger, testConfig } from './testing/test-server.js';

function depsOf(
  log: LogLine[] = [],
): SlicePartDeps & { readonly storage: ReturnType<typeof createMemoryStorage> } {
  const clock = createSystemClock();
  const storage = createMemoryStorage({ clock });
  return {
    config: testConfig({}),
    clock,
    random: createSystemRandom(),
    logger: recordingLogger(log),
    metrics: silentMetrics,
    mesh: undefined,
    draining: new AbortController().signal,
    limitReached: () => undefined,
    fail: () => undefined,
    openStorage: () => Promise.resolve(storage),
    openFiles: () => Promise.resolve(undefined),
    storage,
  };
}

test('a slice is not ready before it has started', () => {
  const part = new SlicePart(depsOf(), new EchoSlice());
  expect(part.health()).toEqual({ kind: 'not-ready', reason: 'starting' });
  expect(part.storageHealth()).toBeUndefined();
});

test('a failed start closes the store', async () => {
  const deps = depsOf();
  const part = new SlicePart(deps, new EchoSlice({ startError: new Error('no') }));
  await expect(part.start()).rejects.toThrow('no');
  expect(deps.storage.health()).toEqual({ kind: 'closed' });
});

test('the store is closed after the slice, even if the slice fails to stop', async () => {
  const deps = depsOf();
  const part = new SlicePart(deps, new EchoSlice({ stopWhen: Promise.reject(new Error('stuck')) }));
  await part.start();
  await expect(part.stop(new AbortController().signal)).rejects.toThrow('stuck');
  expect(deps.storage.health()).toEqual({ kind: 'closed' });
});

test('if the status throws, the check fails and the error is logged', async () => {
  const log: LogLine[] = [];
  const slice = new EchoSlice();
  const part = new SlicePart(depsOf(log), slice);
  await part.start();
  Object.defineProperty(slice, 'health', {
    get() {
      throw new TypeError('boom');
    },
  });
  expect(part.health()).toEqual({ kind: 'not-ready', reason: 'status unavailable' });
  expect(log.at(-1)?.msg).toBe('cannot read the status of a slice');
  await part.stop(new AbortController().signal);
});
