// riblt: the cost of adding an item to a sketch and of decoding a difference, and how many symbols a difference
// takes.
//
// There is no peer to compare with: npm has no implementation for such items. The bounds are goals; those of the
// curve are the published means plus 2%. Items are dots as in the sets: one writer, increasing counters.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Decoder, Encoder, Sketch } from '@syncline/riblt';
import type { AnyBench } from './bench.js';
import { defineBench } from './measure.js';

const KEY = { k0: 0x01234567, k1: 0x89abcdef };
const SKETCH_SYMBOLS = 16_384;
const ADDS = 1_000_000;
const DECODED = 10_000;
const ACTOR = 0x00010000;

/** Differences, and the published mean of symbols per difference. */
const CURVE = [
  [1, 1],
  [10, 1.73],
  [100, 1.455],
  [1_000, 1.38],
  [10_000, 1.36],
  [100_000, 1.355],
] as const;

/** A contestant that needs nothing to be opened. */
const inProcess = { name: 'riblt', open: async () => ({ [Symbol.asyncDispose]: async () => {} }) };

export const ribltBenches: readonly AnyBench[] = [
  defineBench({
    name: 'riblt-add',
    better: 'less',
    unit: 'ns',
    about: `one add to a sketch of ${SKETCH_SYMBOLS} symbols; mean of ${ADDS}`,
    contestants: [inProcess],
    bound: { name: 'at most', value: 400 },
    async run(_, round) {
      const startMs = performance.now();
      sketchOf(SKETCH_SYMBOLS, { from: round * ADDS, to: (round + 1) * ADDS });
      return ((performance.now() - startMs) * 1e6) / ADDS;
    },
  }),
  defineBench({
    name: 'riblt-add-cold',
    better: 'less',
    unit: 'ms',
    about: `${ADDS} adds to a sketch of ${SKETCH_SYMBOLS} symbols in a new process, excluding its startup`,
    contestants: [inProcess],
    bound: { name: 'at most', value: 500 },
    run: addColdMs,
  }),
  defineBench({
    name: 'riblt-encode',
    better: 'less',
    unit: 'ns',
    about: `per item of 100,000: the first ${SKETCH_SYMBOLS} symbols of an encoder, in blocks of an eighth`,
    contestants: [inProcess],
    bound: { name: 'at most', value: 1_000 },
    async run(_, round) {
      const startMs = performance.now();
      const encoder = new Encoder(KEY);
      for (let item = 0; item < 100_000; item += 1) encoder.add(ACTOR, round, item);
      while (encoder.symbolsCount < SKETCH_SYMBOLS) {
        encoder.next(Math.max(32, encoder.symbolsCount >> 3));
      }
      return ((performance.now() - startMs) * 1e6) / 100_000;
    },
  }),
  defineBench({
    name: 'riblt-decode',
    unit: 'differences/s',
    about: `${DECODED} differences from sketches of ${SKETCH_SYMBOLS} symbols, in blocks of an eighth`,
    contestants: [decodingContestant()],
    bound: { name: 'at least', value: 1_000_000 },
    async run({ remote, local }) {
      for (let repeat = 0; repeat < 20; repeat += 1) decode(remote, local);
      return 20 * DECODED;
    },
  }),
  ...CURVE.map(([differences, mean]) => curveBench(differences, mean)),
];

interface SketchPair {
  readonly remote: Sketch;
  readonly local: Sketch;
}

function decodingContestant() {
  return {
    name: 'riblt',
    open: async (): Promise<SketchPair & AsyncDisposable> => ({
      remote: sketchOf(SKETCH_SYMBOLS, { from: 0, to: DECODED / 2 }),
      local: sketchOf(SKETCH_SYMBOLS, { from: DECODED / 2, to: DECODED }),
      [Symbol.asyncDispose]: async () => {},
    }),
  };
}

function sketchOf(symbols: number, { from, to }: { from: number; to: number }): Sketch {
  const sketch = new Sketch(symbols, KEY);
  for (let counter = from; counter < to; counter += 1) sketch.add(ACTOR, 0, counter);
  return sketch;
}

function decode(remote: Sketch, local: Sketch): void {
  const decoder = new Decoder(KEY);
  for (let from = 0; from < SKETCH_SYMBOLS; from = decoder.symbolsCount) {
    const to = Math.min(from + Math.max(32, from >> 3), SKETCH_SYMBOLS);
    if (decoder.push(remote.block(from, to), local.block(from, to)) === 'done') return;
  }
  throw new Error('the sketches do not decode');
}

function curveBench(differences: number, mean: number): AnyBench {
  const seeds = Math.max(3, Math.min(1_000, Math.ceil(20_000 / differences)));
  return defineBench({
    name: `riblt-curve-${differences}`,
    better: 'less',
    unit: 'symbols/difference',
    about: `symbols until ${differences} differences are decoded; mean of ${seeds} keys per run`,
    contestants: [inProcess],
    bound: { name: 'at most', value: mean * 1.02 },
    isLong: differences === 100_000,
    async run(_, round) {
      let symbols = 0;
      for (let seed = 0; seed < seeds; seed += 1) {
        symbols += symbolsUntilDone({ k0: round * seeds + seed, k1: differences }, differences);
      }
      return symbols / seeds / differences;
    },
  });
}

function symbolsUntilDone(key: { k0: number; k1: number }, differences: number): number {
  const [remote, local] = [new Encoder(key), new Encoder(key)];
  for (let item = 0; item < differences; item += 1) {
    (item % 2 === 0 ? remote : local).add(ACTOR, 0, item);
  }
  const decoder = new Decoder(key);
  while (decoder.push(remote.next(1), local.next(1)) !== 'done');
  return decoder.symbolsCount;
}

async function addColdMs(): Promise<number> {
  const program = `
    import { Sketch } from '${import.meta.resolve('@syncline/riblt')}';
    const startMs = performance.now();
    const sketch = new Sketch(${SKETCH_SYMBOLS}, { k0: ${KEY.k0}, k1: ${KEY.k1} });
    for (let counter = 0; counter < ${ADDS}; counter += 1) sketch.add(${ACTOR}, 0, counter);
    process.stdout.write(String(performance.now() - startMs));
  `;
  const args = ['--input-type=module', '--eval', program];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return Number(stdout);
}
