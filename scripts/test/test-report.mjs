// Reads vitest's JSON report: the counts for the last line of `npm test`, and whether everything that
// should have run did. A test file that no project includes would otherwise pass forever.
import { relative } from 'node:path';

/** @typedef {{ name: string, status: string, assertionResults: { status: string }[] }} FileReport */
/** @typedef {{ testResults: FileReport[] }} TestReport */
/** @typedef {{ passed: number, failed: number, skipped: number }} Counts */

/** The vitest projects, by how their files end. The first that fits is the file's project. */
const projectSuffixes = { sim: '.sim.test.ts', int: '.int.test.ts', unit: '.test.ts' };

/**
 * @param {TestReport} report
 * @returns {Counts}
 */
export function countTests(report) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const file of report.testResults) {
    // A file that does not even load has no tests, but it is a failure.
    if (file.status === 'failed' && file.assertionResults.length === 0) counts.failed += 1;
    for (const test of file.assertionResults) {
      if (test.status === 'passed') counts.passed += 1;
      else if (test.status === 'failed') counts.failed += 1;
      else counts.skipped += 1;
    }
  }
  return counts;
}

/** @param {Counts} counts */
export function formatCounts({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}

/**
 * What a whole run left out.
 *
 * @param {TestReport} report
 * @param {readonly string[]} testFiles Every test file of the repository, relative to `root`.
 * @param {string} root
 * @returns {string[]}
 */
export function missingFromReport(report, testFiles, root) {
  const ran = new Set(report.testResults.map((file) => relative(root, file.name)));
  const notRun = testFiles.filter((path) => !ran.has(path));
  const empty = new Set(Object.keys(projectSuffixes));
  for (const path of ran) empty.delete(projectOf(path));
  return [
    ...notRun.map((path) => `${path} was not run: no project of vitest.config.ts includes it`),
    ...[...empty].map((name) => `project "${name}" found no test file`),
  ];
}

/** @param {string} path */
function projectOf(path) {
  const found = Object.entries(projectSuffixes).find(([, suffix]) => path.endsWith(suffix));
  return found?.[0] ?? 'none';
}
