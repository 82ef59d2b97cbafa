// Damaged bytes by the million, when asked: SYNCLINE_FUZZ_INPUTS=1000000.
import { createSeededRandom } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { differenceOf } from '../testing/codec-difference.js';
import { mutated, SOUP_SHAPES, wireSoup } from '../testing/wire-soup.js';

const INPUTS = Number(process.env['SYNCLINE_FUZZ_INPUTS'] ?? 20_000);
const SEED = process.env['SYNCLINE_FUZZ_SEED'] ?? 'fair-wire';

test(`F3 ${INPUTS} damaged inputs are judged and read as Protobuf-ES does`, () => {
  const random = createSeededRandom(SEED);
  let input: Uint8Array = new Uint8Array(0);
  for (let index = 0; index < INPUTS; index += 1) {
    // Damage adds up for a while, so that inputs grow away from what the generator can think of.
    const isFresh = index % 4 === 0 || input.length > 1_000;
    const shape = index % 8 === 0 ? SOUP_SHAPES.response : SOUP_SHAPES.request;
    const before = isFresh ? Uint8Array.from(wireSoup(random, shape)) : input;
    input = mutated(random, before);
    const difference = differenceOf(input);
    if (difference !== undefined) expect(difference.ours).toEqual(difference.theirs);
  }
}, 600_000);
