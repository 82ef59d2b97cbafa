// What `npm run check` runs, as data. `types` is also the build, and `rules` are the tests in
// scripts/: tidy, architecture, specs and generated pages.
import { availableParallelism } from 'node:os';
import { runCheck } from './run-check.mjs';

/**
 * @typedef {object} Check
 * @property {string} name
 * @property {string} program A program of node_modules, as the path of its script.
 * @property {readonly string[]} args
 */

/** @type {readonly Check[]} */
export const checks = [
  { name: 'types', program: 'typescript/bin/tsc', args: ['-b', '--pretty', 'false'] },
  { name: 'lint', program: 'oxlint/bin/oxlint', args: [] },
  { name: 'dead code', program: 'knip/bin/knip.js', args: ['--no-progress'] },
  { name: 'format', program: '@biomejs/biome/bin/biome', args: ['check', '--error-on-warnings'] },
  {
    name: 'rules',
    program: 'vitest/vitest.mjs',
    args: ['run', '--project', 'unit', '--reporter', 'dot', 'scripts/'],
  },
];

/**
 * Runs all of them, a few at a time, and reports each on standard error as it ends.
 *
 * @param {readonly Check[]} wanted
 * @returns {Promise<number>} How many failed.
 */
export async function runChecks(wanted) {
  const waiting = [...wanted];
  let failedCount = 0;
  const runner = async () => {
    for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) {
      if (!(await runCheck(check))) failedCount += 1;
    }
  };
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), 4) }, runner));
  return failedCount;
}
