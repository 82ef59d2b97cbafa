import type { StateServiceFacts } from '@syncline/fair';
import { expect, test } from 'vitest';
import { plainPaint } from '../paint.js';
import { renderTop } from './top-table.js';

const service = { streams: 3, streamsMax: 1_024, trackers: 1, isReachable: true };
const unnamed: StateServiceFacts['namespaces'][number] = {
  tracker: 'default',
  config: undefined,
  epoch: 0,
  streams: 1,
  streamsBehind: 1,
  instances: 0,
  cells: 1,
  seeds: [{ seed: '42', cells: 1, idleMs: 10 }],
  highest: [{ seed: '42', row: 3, column: 4, probability: 0.5, ageMs: undefined }],
};
const api: StateServiceFacts['namespaces'][number] = {
  tracker: 'api',
  config: {
    levels: 3,
    columns: 1_000,
    policy: 'linear',
    ratePerSecond: 0.005,
    windowMs: 300_000,
    hash: 'keyed',
    increment: 0.04,
    decrement: 0.00004,
  },
  epoch: 7,
  streams: 2,
  streamsBehind: 0,
  instances: 2,
  cells: 9,
  seeds: [
    { seed: '1700000100000', cells: 5, idleMs: 10 },
    { seed: '1700000400000', cells: 4, idleMs: 10 },
  ],
  highest: [
    { seed: '1700000100000', row: 0, column: 274, probability: 0.98765, ageMs: 12_000 },
    { seed: '1700000100000', row: 1, column: 799, probability: 0.25, ageMs: 65_000 },
  ],
};

test('trackers, then the highest cells of all of them', async () => {
  const none = { ...unnamed, streams: 0, cells: 0, seeds: [], highest: [] };
  const shown = [
    renderTop({ ...service, namespaces: [unnamed, api] }, 20, plainPaint),
    renderTop({ ...service, namespaces: [unnamed, api] }, 1, plainPaint),
    renderTop({ ...service, streams: 0, namespaces: [none] }, 20, plainPaint),
    renderTop({ ...service, isReachable: false, namespaces: [none] }, 20, plainPaint),
  ];
  await expect(shown.join('-----\n')).toMatchFileSnapshot('../../testdata/fair-top.txt');
});

test('names of a server are shown, not obeyed', () => {
  const evil = { ...api, tracker: '\u001b[2Japi' };
  expect(renderTop({ ...service, namespaces: [evil] }, 20, plainPaint)).not.toContain('\u001b');
});
