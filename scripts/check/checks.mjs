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
 * @property {boolean} [needsBuild] It reads types or runs the build, so it has nothing to say while types are wrong.
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
    needsBuild: true,
  },
  { name: 'lint', program: 'oxlint/bin/oxlint', args: [], needsBuild: true },
];

/**
 * Runs all of them, a few at a time, and reports each on standard error as it ends. What needs the build waits for it,
 * unless `types` is not wanted: then the build is there.
 *
 * @param {readonly Check[]} wanted
 * @returns {Promise<number>} How many did not pass.
 */
export async function runChecks(wanted) {
  const isBuilding = wanted.some(({ name }) => name === 'types');
  const later = wanted.filter(({ needsBuild }) => isBuilding && needsBuild === true);
  const failed = await runTogether(wanted.filter((check) => !later.includes(check)));
  if (!failed.has('types')) return failed.size + (await runTogether(later)).size;
  for (const { name } of later) say(`not run ${name}: it needs the types to be right`);
  return failed.size + later.length;
}

/**
 * @param {readonly Check[]} wanted
 * @returns {Promise<Set<string>>} The names of those that did not pass.
 */
async function runTogether(wanted) {
  const waiting = [...wanted];
  /** @type {Set<string>} */
  const failed = new Set();
  const worker = async () => {
    for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) {
      if (!(await runCheck(check))) failed.add(check.name);
    }
  };
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), 4) }, worker));
  return failed;
}
