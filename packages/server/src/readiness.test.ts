import { createSystemClock, type Metrics, type StorageHealth } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { Readiness } from './readiness.js';
import type { SliceHealth } from './slice.js';
import { type LogLine, recordingLogger } from './testing/test-server.js';

function setup() {
  const log: LogLine[] = [];
  const gauges = new Map<string, number>();
  const metrics: Metrics = {
    add() {},
    set: (_name, value, labels) => void gauges.set(labels?.['check'] ?? '', value),
    observe() {},
  };
  const drain = new AbortController();
  const readiness = new Readiness({
    clock: createSystemClock(),
    logger: recordingLogger(log),
    metrics,
    draining: drain.signal,
  });
  const slice = {
    name: 'toy',
    now: { kind: 'ready' } as SliceHealth,
    storage: { kind: 'ok' } as StorageHealth | undefined,
    health: () => slice.now,
    storageHealth: () => slice.storage,
  };
  readiness.addSlice(slice);
  return { log, gauges, drain, readiness, slice };
}

test.each<[StorageHealth, boolean, boolean]>([
  [{ kind: 'ok' }, true, false],
  [{ kind: 'full', reason: 'no room' }, true, false],
  [{ kind: 'reopening' }, false, false],
  [{ kind: 'failed', reason: 'input/output error' }, false, true],
  [{ kind: 'closed' }, false, false],
])('storage %j: ok %s, fatal %s', (storage, ok, isFatal) => {
  const { readiness, slice } = setup();
  slice.storage = storage;
  const check = readiness.checks().find(({ name }) => name === 'storage:toy');
  expect(check).toMatchObject({ ok, isFatal });
  if ('reason' in storage) expect(check?.reason).toBe(storage.reason);
  expect(readiness.isReady()).toBe(ok);
});

test('a slice without a store has one check', () => {
  const { readiness, slice } = setup();
  slice.storage = undefined;
  expect(readiness.checks().map(({ name }) => name)).toEqual(['server', 'slice:toy']);
});

test('each change is logged once, updates the gauge and notifies watchers once', () => {
  const { log, gauges, readiness, slice } = setup();
  let calls = 0;
  const stop = readiness.watch(() => {
    calls += 1;
  });
  readiness.evaluate();
  readiness.evaluate();
  expect(calls).toBe(1);
  slice.now = { kind: 'not-ready', reason: 'loading' };
  readiness.evaluate();
  readiness.evaluate();
  expect(calls).toBe(2);
  expect(
    log.filter(({ msg }) => msg === 'readiness check failed').map(({ fields }) => fields),
  ).toEqual([{ check: 'slice:toy', reason: 'loading' }]);
  expect(gauges.get('slice:toy')).toBe(0);
  stop();
  slice.now = { kind: 'ready' };
  readiness.evaluate();
  expect(calls).toBe(2);
  expect(gauges.get('slice:toy')).toBe(1);
});

test('whenReady resolves when all checks have passed, and not before', async () => {
  const { readiness, slice } = setup();
  slice.now = { kind: 'not-ready', reason: 'loading' };
  let isReady = false;
  const ready = readiness.whenReady().then(() => {
    isReady = true;
  });
  readiness.evaluate();
  await Promise.resolve();
  expect(isReady).toBe(false);
  slice.now = { kind: 'ready' };
  readiness.evaluate();
  await ready;
});

test('"server ready" is logged when every check passes, and again after a failure', () => {
  const { log, readiness, slice } = setup();
  const readyLines = () => log.filter(({ msg }) => msg === 'server ready').length;
  slice.now = { kind: 'not-ready', reason: 'waiting for the first pull from a peer' };
  readiness.evaluate();
  expect(readyLines()).toBe(0);
  slice.now = { kind: 'ready' };
  readiness.evaluate();
  readiness.evaluate();
  expect(readyLines()).toBe(1);
  slice.now = { kind: 'not-ready', reason: 'diverged' };
  readiness.evaluate();
  slice.now = { kind: 'ready' };
  readiness.evaluate();
  expect(readyLines()).toBe(2);
});

test('draining makes the server and every slice not ready', () => {
  const { drain, readiness } = setup();
  expect(readiness.isSliceReady('toy')).toBe(true);
  expect(readiness.isSliceReady('other')).toBe(false);
  drain.abort();
  expect(readiness.isReady()).toBe(false);
  expect(readiness.isSliceReady('toy')).toBe(false);
});
