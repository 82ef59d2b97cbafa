import type { ServerStatus } from '@syncline/server';
import { expect, test } from 'vitest';
import { plainPaint } from '../paint.js';
import { renderStatus } from './render-status.js';

const healthy: ServerStatus = {
  nodeId: 1,
  clusterId: 'syncline',
  version: '0.1.0',
  nodeVersion: 'v20.19.0',
  startedAtMs: 1_700_000_000_000,
  uptimeMs: 11_520_000,
  isReady: true,
  checks: [{ name: 'server', ok: true, isFatal: false }],
  listeners: [
    { listener: 'http', host: '127.0.0.1', port: 7400 },
    { listener: 'grpc', host: '127.0.0.1', port: 7401 },
  ],
  dataDir: '/var/lib/syncline',
  slices: [],
  peers: [],
  limitsReached: [],
};

const troubled: ServerStatus = {
  ...healthy,
  isReady: false,
  dataDir: undefined,
  checks: [
    { name: 'server', ok: true, isFatal: false },
    { name: 'slice:sets', ok: false, isFatal: false, reason: 'loading from a peer\u001b[2J' },
    { name: 'storage:jobs', ok: true, isFatal: false, reason: 'no space left on the device' },
  ],
  slices: [
    {
      name: 'jobs',
      health: { kind: 'ready' },
      storage: { kind: 'ok' },
      details: { store: 'embedded', jobs: 1_200, subscribers: 1, cacheBytes: 4_096 },
    },
    {
      name: 'sets',
      health: { kind: 'not-ready', reason: 'loading from a peer' },
      storage: undefined,
      details: {},
    },
  ],
  peers: [
    {
      nodeId: 2,
      address: '10.0.0.2:7403',
      state: 'connected',
      sinceMs: 1_700_000_000_000,
      silentMs: 12,
      lagOperations: 0,
      evictedOperations: 0,
      lagMs: 0,
      unackedOperations: 0,
      pendingOperations: 0,
      retries: 0,
      reconnects: 0,
      lastError: undefined,
    },
    {
      nodeId: 3,
      address: '10.0.0.3:7403',
      state: 'down',
      sinceMs: 1_700_011_400_000,
      silentMs: 120_000,
      lagOperations: 4_120,
      evictedOperations: 0,
      lagMs: 118_000,
      unackedOperations: 0,
      pendingOperations: 0,
      retries: 3,
      reconnects: 1,
      lastError: 'connection refused',
    },
  ],
  limitsReached: [
    { package: 'server', limit: 'httpBodyBytesMax', count: 3, lastMs: 1_700_000_000_000 },
    { package: 'jobs', limit: 'writeQueue', count: 1, lastMs: 1_700_000_000_000 },
  ],
};

test('the status comes first, then problems; control characters do not reach the terminal', async () => {
  const text = `${renderStatus(healthy, plainPaint)}-----\n${renderStatus(troubled, plainPaint)}`;
  expect(text).not.toContain('\u001b');
  await expect(text).toMatchFileSnapshot('../../testdata/status.txt');
});

test('text from a server is escaped before it is printed', () => {
  const evil = '\u001b]0;x\u0007\u009b2J';
  const status = {
    ...troubled,
    clusterId: evil,
    version: evil,
    nodeVersion: evil,
    dataDir: evil,
    listeners: [{ listener: evil, host: evil, port: 1 }],
    checks: [{ name: evil, ok: false, isFatal: false, reason: evil }],
    slices: [
      {
        name: evil,
        health: { kind: evil },
        storage: { kind: evil },
        details: { [evil]: evil, nested: [evil] },
      },
    ],
    limitsReached: [{ package: evil, limit: evil, count: 1, lastMs: 1 }],
  } as unknown as ServerStatus;
  const text = renderStatus(status, plainPaint);
  expect(text.match(/[^\P{Cc}\n]/gu)).toBeNull();
  expect(text.split('\\x9b2J')).toHaveLength(14); // shown 13 times
});
