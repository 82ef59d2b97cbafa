import type { StateServiceFacts } from '@syncline/fair';
import { expect, test } from 'vitest';
import { plainPaint } from '../paint.js';
import { boundlessScreen } from '../screen.js';
import { renderOutage, renderTop } from './top-table.js';

const service = { streams: 3, streamsMax: 1_024, trackers: 1, isReachable: true, callers: [] };
const callers = [
  { tracker: 'api', key: 'tenant-7', probability: 0.98, throttledPerSecond: 41.25, instances: 2 },
  { tracker: 'api', key: 'tenant-9', probability: 0.2, throttledPerSecond: 3, instances: 1 },
];
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

const remote = "grpcRemote({ address: '127.0.0.1:7401', tracker: 'api' })";
const wide = (limit: number) => ({ limit, remote, paint: plainPaint, screen: boundlessScreen });

test('trackers are followed by the most throttled callers and by the hottest cells of all trackers', async () => {
  const none = { ...unnamed, streams: 0, cells: 0, seeds: [], highest: [] };
  const shown = [
    renderTop({ ...service, namespaces: [unnamed, api] }, wide(20)),
    renderTop({ ...service, namespaces: [unnamed, api], callers }, wide(20)),
    renderTop({ ...service, namespaces: [unnamed, api], callers }, wide(1)),
    renderTop({ ...service, streams: 0, namespaces: [none] }, wide(20)),
    renderTop({ ...service, streams: 0, namespaces: [none] }, { ...wide(20), remote: undefined }),
    renderTop({ ...service, isReachable: false, namespaces: [none] }, wide(20)),
  ];
  await expect(shown.join('-----\n')).toMatchFileSnapshot('../../testdata/fair-top.txt');
});

test('control characters in names are escaped', () => {
  const evil = { ...api, tracker: '\u001b[2Japi' };
  expect(renderTop({ ...service, namespaces: [evil] }, wide(20))).not.toContain('\u001b');
});

const cellsOf = (count: number) =>
  Array.from({ length: count }, (_, at) => ({
    seed: '1700000100000',
    row: at % 3,
    column: 100 + at,
    probability: 1 - at / 100,
    ageMs: 65_000,
  }));
const widest = {
  ...api,
  tracker: 'a-tracker-with-a-name-that-is-long',
  instances: 12,
  highest: cellsOf(18),
};

test.each([
  { columns: 80, rows: 24 },
  { columns: 120, rows: 40 },
])('$columns × $rows: nothing wraps and nothing scrolls', async (screen) => {
  const many = Array.from({ length: 30 }, (_, at) => ({ ...api, tracker: `api-${at}` }));
  const shown = [
    [{ ...api, highest: cellsOf(18) }],
    [widest, unnamed],
    many,
    [...many, widest],
  ].flatMap((namespaces) =>
    [true, false].map((isReachable) =>
      renderTop(
        { ...service, isReachable, namespaces },
        { limit: 20, remote, paint: plainPaint, screen, hint: 'Ctrl-C to quit' },
      ),
    ),
  );
  for (const text of shown) {
    const lines = text.split('\n');
    expect(lines.length).toBeLessThanOrEqual(screen.rows); // including the line of the cursor
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(screen.columns);
    expect(lines[0]).toBe('fair  3 of 1024 connections  Ctrl-C to quit');
    expect(text).toContain('probability');
  }
  await expect(shown.join('-----\n')).toMatchFileSnapshot(
    `../../testdata/fair-top-${screen.columns}.txt`,
  );
});

test('sentences break between words', () => {
  const screen = { columns: 40, rows: 24 };
  const view = { limit: 20, remote, paint: plainPaint, screen };
  expect(renderTop({ ...service, isReachable: false, namespaces: [] }, view)).toBe(
    [
      'fair  3 of 1024 connections',
      '',
      'Redis is unreachable: clients decide on',
      'their own until it is back.',
      '',
      'No trackers connected and no cells',
      'stored. To connect one, create it with a',
      'remote from @syncline/fair/grpc:',
      'createFairTracker({ secret, remote:',
      "grpcRemote({ address: '127.0.0.1:7401',",
      "tracker: 'api' }) })",
      '',
    ].join('\n'),
  );
});

test('the message about an outage breaks between words, and says how to quit', () => {
  const message = 'http://127.0.0.1:7400 cannot be reached (connection refused).';
  const view = { paint: plainPaint, screen: { columns: 40, rows: 24 }, hint: 'Ctrl-C to quit' };
  expect(renderOutage(3_000, message, view)).toBe(
    [
      'No reply for 3 s: http://127.0.0.1:7400',
      'cannot be reached (connection refused).',
      '',
      'Ctrl-C to quit',
      '',
    ].join('\n'),
  );
  expect(renderOutage(3_000, message, wide(20))).toBe(`No reply for 3 s: ${message}\n`);
});

test('even a window of a few lines does not scroll', () => {
  for (const rows of [1, 2, 3, 4, 5]) {
    const view = { limit: 20, remote, paint: plainPaint, screen: { columns: 80, rows } };
    const lines = renderTop({ ...service, namespaces: [api] }, view).split('\n');
    expect(lines.length).toBeLessThanOrEqual(rows);
  }
});
