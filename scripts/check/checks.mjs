// What `npm run check` runs, as data. `types` is also the build, and `rules` are the tests in
// scripts/: tidy, architecture, specs and generated pages.
import { availableParallelism } from 'node:os';
import { say } from '../bootstrap/say.mjs';
import { runCheck } from './run-check.mjs';

/**
 * @typedef {object} Check
 * @property {string} name
 * @property {string} program A program of node_modules, as the path of its script.
 * @property {readonly string[]} args
 * @property {boolean} [needsTypes] It reads types, so it has nothing to say while they are wrong.
 */

/** @type {readonly Check[]} */
export const checks = [
  { name: 'types', program: 'typescript/bin/tsc', args: ['-b', '--pretty', 'false'] },
  { name: 'format', program: '@biomejs/biome/bin/biome', args: ['check', '--error-on-warnings'] },
  { name: 'contracts', program: '@bufbuild/buf/bin/buf', args: ['lint'] },
  { name: 'dead code', program: 'knip/bin/knip.js', args: ['--no-progress'] },
  {
    name: 'rules',
    program: 'vitest/vitest.mjs',
    args: ['run', '--project', 'unit', '--reporter', 'dot', 'scripts/'],
  },
  { name: 'lint', program: 'oxlint/bin/oxlint', args: [], needsTypes: true },
];

/**
 * Runs all of them, a few at a time, and reports each on standard error as it ends.
 *
 * @param {readonly Check[]} wanted
 * @returns {Promise<number>} How many did not pass.
 */
export async function runChecks(wanted) {
  const waiting = wanted.filter((check) => check.needsTypes !== true);
  /** @type {Set<string>} */
  const failed = new Set();
  const worker = async () => {
    for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) {
      if (!(await runCheck(check))) failed.add(check.name);
    }
  };
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), 4) }, worker));

  for (const check of wanted.filter(({ needsTypes }) => needsTypes === true)) {
    const canRun = !failed.has('types');
    if (!canRun) say(`not run ${check.name}: it needs the types to be right`);
    if (!canRun || !(await runCheck(check))) failed.add(check.name);
  }
  return failed.size;
}
