// Runs vitest as a program of its own and reads its report, so that even a crash of the runner ends in
// counts. Without filters it also checks that no test file was left out.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { endOf } from '../bootstrap/end-of.mjs';
import { cacheDirectory, root } from '../bootstrap/root.mjs';
import { say } from '../bootstrap/say.mjs';
import { countTests, missingFromReport } from './test-report.mjs';

const reportPath = join(cacheDirectory, 'test-report.json');
const skippedFolders = new Set(['node_modules', 'dist', '.git', '.cache']);

/**
 * @param {readonly string[]} args Filters and options for vitest; none means every test.
 * @returns {Promise<import('./test-report.mjs').Counts>}
 */
export async function runVitest(args) {
  rmSync(reportPath, { force: true });
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportPath}`];
  const program = join(root, 'node_modules/vitest/vitest.mjs');
  const child = spawn(process.execPath, [program, 'run', ...reporters, ...args], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const { code } = await endOf(child);
  if (!existsSync(reportPath)) return { passed: 0, failed: 1, skipped: 0 };

  const report = /** @type {import('./test-report.mjs').TestReport} */ (
    JSON.parse(readFileSync(reportPath, 'utf8'))
  );
  const counts = countTests(report);
  const problems = args.length === 0 ? missingFromReport(report, listTestFiles(), root) : [];
  for (const problem of problems) say(problem);
  counts.failed += problems.length;
  // An error outside any test fails the run, although each test passed.
  if (code !== 0 && counts.failed === 0) counts.failed = 1;
  return counts;
}

/** @param {string} [folder] */
function listTestFiles(folder = '') {
  /** @type {string[]} */
  const found = [];
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && !skippedFolders.has(entry.name)) found.push(...listTestFiles(path));
    if (/\.test\.[mc]?[jt]sx?$/.test(entry.name)) found.push(path);
  }
  return found;
}
