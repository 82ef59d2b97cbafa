import { expect, test } from 'vitest';
import { classSeries, meanSeries } from './class-series.js';
import type { Scenario } from './scenario.js';
import { Tally } from './tally.js';
import { judge, meanVerdict } from './verdict.js';

/** One minute, one token per second: a light client that wants 15, and a heavy one that wants 120. */
const scenario: Scenario = {
  name: 'small',
  seed: 1,
  durationSeconds: 60,
  capacityPerSecond: 1,
  classes: [
    { name: 'light', clients: 1, requestsPerSecond: 0.25 },
    { name: 'heavy', clients: 1, requestsPerSecond: 2 },
  ],
};

/** Asks in the middle of each of `count` equal parts of the time; those for which `isServed` are served. */
function ask(tally: Tally, client: number, count: number, isServed: (atSecond: number) => boolean) {
  for (let request = 0; request < count; request += 1) {
    const second = ((request + 0.5) * 60) / count;
    tally.countRequest(client, second * 1e9);
    if (isServed(second)) tally.countSuccess(client, second * 1e9);
  }
}

test('all get their max-min share: index 1, and all capacity is used', () => {
  const tally = new Tally(scenario);
  ask(tally, 0, 15, () => true);
  ask(tally, 1, 120, (second) => second < 23); // 46 = 61 - 15
  expect(judge(tally)).toMatchObject({ requests: 135, successes: 61, jain: 1, used: 1, worst: 1 });
});

test('the windowed index shows who was served late', () => {
  const tally = new Tally(scenario);
  ask(tally, 0, 60, (second) => second < 30);
  ask(tally, 1, 60, (second) => second >= 30);
  const { jain, jain30 } = judge(tally);
  expect(jain).toBeCloseTo(1, 12);
  expect(jain30).toBeCloseTo(0.5, 12);
});

test('a client that asks for nothing is left out', () => {
  const tally = new Tally(scenario);
  ask(tally, 1, 30, () => true);
  expect(judge(tally)).toMatchObject({ jain: 1, jain30: 1, used: 1, worst: 1 });
});

test('a mean is computed field by field', () => {
  const tally = new Tally(scenario);
  ask(tally, 0, 15, () => true);
  const one = judge(tally);
  const mean = meanVerdict([one, { ...one, jain: 0.5, failures: 3 }]);
  expect(mean).toEqual({ ...one, jain: 0.75, failures: 1.5 });
});

test('a rotation is judged by the 30 s after it, compared with the rest of the run without its start', () => {
  const play = (rotatedAtSeconds: number, isServed: (second: number) => boolean) => {
    const tally = new Tally({ ...scenario, durationSeconds: 150 });
    tally.rotatedAtSeconds = rotatedAtSeconds;
    for (let second = 0.5; second < 150; second += 1)
      for (const client of [0, 1]) {
        tally.countRequest(client, second * 1e9);
        if (client === 0 || isServed(second)) tally.countSuccess(client, second * 1e9);
      }
    return judge(tally);
  };
  const isAfter = (second: number) => second >= 60 && second < 90;
  const dipped = play(63, (second) => !isAfter(second));
  expect(dipped.rotationDip).toBeCloseTo(0.5, 12);
  expect(play(63, (second) => second > 30).rotationDip).toBeCloseTo(0, 12);
  expect(meanVerdict([dipped, play(10, () => true)]).rotationDip).toBeCloseTo(0.5, 12);
  for (const second of [10, 130, 200])
    expect(play(second, () => true)).not.toHaveProperty('rotationDip');
});

test('a series gives rates per class, beside the fair share of those who ask at the time', () => {
  const late = { name: 'late', clients: 2, requestsPerSecond: 1, fromSeconds: 30 };
  const tally = new Tally({ ...scenario, classes: [...scenario.classes, late] });
  ask(tally, 0, 15, () => true);
  ask(tally, 1, 120, (second) => second < 30);
  const series = classSeries(tally, 30);
  expect(series).toEqual([
    { name: 'light', share: [0.25, 0.25], served: [7 / 30, 8 / 30] },
    { name: 'heavy', share: [0.75, 0.25], served: [2, 0] },
    { name: 'late', share: [0, 0.5], served: [0, 0] },
  ]);
  expect(meanSeries([series, series])).toEqual(series);
});
