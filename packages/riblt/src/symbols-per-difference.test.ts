import { expect, inject, test } from 'vitest';
import { Decoder } from './decoder.js';
import { Encoder } from './encoder.js';

/** Mean symbols per difference, and how many seeds bring the mean within its tolerance. */
const curve = [
  { differences: 1, symbolsPerDifference: 1.0, seeds: 1_000 },
  { differences: 2, symbolsPerDifference: 1.55, seeds: 4_000 },
  { differences: 4, symbolsPerDifference: 1.72, seeds: 4_000 },
  { differences: 10, symbolsPerDifference: 1.73, seeds: 2_000 },
  { differences: 20, symbolsPerDifference: 1.65, seeds: 2_000 },
  { differences: 40, symbolsPerDifference: 1.54, seeds: 1_000 },
  { differences: 100, symbolsPerDifference: 1.455, seeds: 1_000 },
  { differences: 1_000, symbolsPerDifference: 1.38, seeds: 100 },
  { differences: 10_000, symbolsPerDifference: 1.36, seeds: 20 },
  { differences: 100_000, symbolsPerDifference: 1.355, seeds: 20 },
];
const differencesMax = inject('ribltDifferencesMax');

declare module 'vitest' {
  interface ProvidedContext {
    readonly ribltDifferencesMax: number;
  }
}

test.each(curve.filter(({ differences }) => differences <= differencesMax))(
  'R12 $differences differences take $symbolsPerDifference symbols each',
  { timeout: 120_000 },
  ({ differences, symbolsPerDifference, seeds }) => {
    let symbols = 0;
    for (let seed = 0; seed < seeds; seed += 1) symbols += symbolsUntilDone(seed, differences);
    const ratio = symbols / seeds / differences / symbolsPerDifference;
    const tolerance = differences < 10 ? 0.04 : 0.02;
    expect(ratio).toBeGreaterThan(1 - tolerance);
    expect(ratio).toBeLessThan(1 + tolerance);
  },
);

/** One symbol at a time; the differences are dealt out to both sides. */
function symbolsUntilDone(seed: number, differences: number): number {
  const key = { k0: seed, k1: differences };
  const [remote, local] = [new Encoder(key), new Encoder(key)];
  for (let item = 0; item < differences; item += 1) {
    (item % 3 === 0 ? remote : local).add(0x00010000, 0, item);
  }
  const decoder = new Decoder(key);
  while (decoder.push(remote.next(1), local.next(1)) !== 'done');
  return decoder.symbolsCount;
}
