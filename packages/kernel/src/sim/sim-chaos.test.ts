import { expect, test } from 'vitest';
import { createSeededRandom } from '../seeded-random.js';
import { SimChaos } from './sim-chaos.js';

const chaosOf = (seed: number) => new SimChaos(createSeededRandom(seed));
const fires = (chaos: SimChaos, name: string) =>
  Array.from({ length: 100 }, () => chaos.buggify(name)).filter(Boolean).length;

test('a point is off in most runs, and fires now and then in the others', () => {
  const counts = Array.from({ length: 200 }, (_, seed) => fires(chaosOf(seed), 'short-read'));
  const on = counts.filter((count) => count > 0);
  expect(on.length).toBeGreaterThan(25);
  expect(on.length).toBeLessThan(75);
  expect(Math.max(...counts)).toBeLessThan(50);
});

test('a new point does not shift the others', () => {
  for (let seed = 0; seed < 20; seed += 1) {
    const [plain, extended] = [chaosOf(seed), chaosOf(seed)];
    fires(extended, 'new');
    expect(fires(extended, 'old')).toBe(fires(plain, 'old'));
  }
});

test('nothing fires once faults are off, and probes are counted', () => {
  const seed = Array.from({ length: 50 }, (_, each) => each).find((each) =>
    fires(chaosOf(each), 'x'),
  );
  const chaos = chaosOf(seed ?? 0);
  expect(fires(chaos, 'x')).toBeGreaterThan(0);
  chaos.calm();
  expect(fires(chaos, 'x')).toBe(0);
  chaos.probe('reached');
  chaos.probe('reached');
  expect([...chaos.probes]).toEqual([['reached', 2]]);
});
