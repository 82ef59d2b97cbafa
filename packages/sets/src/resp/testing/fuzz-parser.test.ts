// `SETS_FUZZ_INPUTS=10000000 npx vitest run --project unit packages/sets/src/resp/testing` runs many more.
import { createSeededRandom } from '@syncline/kernel/testing';
import { expect, inject, test } from 'vitest';
import { protocolFailures } from '../protocol-failure.js';
import { fuzzParser } from './fuzz-parser.js';

const INPUTS = inject('setsFuzzInputs');

test('S14 mutated pipelines give the same commands and errors as a plain parser, however they are split', {
  timeout: 60_000 + INPUTS,
}, () => {
  const report = fuzzParser(createSeededRandom('resp'), INPUTS);
  expect(report.difference).toBeUndefined();
  expect(report.inputs).toBe(INPUTS);
  const outcomes = [...Object.keys(protocolFailures), 'more', 'read'];
  for (const outcome of outcomes) expect(report.failures.get(outcome), outcome).toBeGreaterThan(0);
  expect(report.commands).toBeGreaterThan(INPUTS / 2);
});

declare module 'vitest' {
  interface ProvidedContext {
    /** Inputs of the fuzz test of the RESP parser. */
    readonly setsFuzzInputs: number;
  }
}
