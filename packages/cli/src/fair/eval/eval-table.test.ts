import { scenarios } from '@syncline/fair/testing';
import { expect, test } from 'vitest';
import { plainPaint } from '../../paint.js';
import { describeScenario, renderTable } from './eval-table.js';

const verdict = {
  requests: 100,
  successes: 50,
  failures: 5,
  throttled: 45,
  jain: 0.65401,
  jain30: 0.6955,
  used: 0.99978,
  worst: 0.577,
  failuresPerSuccess: 0.1492,
};

test('columns line up, regardless of the figures', () => {
  const rows = [
    { title: 'no throttling', isBold: false, verdict: { ...verdict, used: 1 } },
    { title: 'one', isBold: true, verdict },
  ];
  const text = renderTable(scenarios.flashCrowd, rows, { paint: plainPaint, seeds: 20 });
  expect(text.split('\n')).toEqual([
    'flash-crowd  mean of 20 seeds; 300 per second for 120 s,',
    '  requested by 500 shopper @ 1/s',
    '                 J      J30    used     worst  failures/success',
    '  no throttling  0.654  0.696  100.00%  0.577  0.149',
    '  one            0.654  0.696   99.98%  0.577  0.149',
    '',
  ]);
});

test.each(Object.values(scenarios))('the heading of $name fits 80 columns', (scenario) => {
  const text = renderTable(scenario, [], { paint: plainPaint, seeds: 1_000 });
  for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
});

test('a scenario is described in one line, with the times of each class', () => {
  expect(describeScenario(scenarios.batchSurge)).toBe(
    '120 per second for 360 s, requested by 100 interactive @ 1/s and 10 batch @ 30/s from 90 to 270 s',
  );
});
