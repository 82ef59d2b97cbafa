// `npm test`: everything, from a fresh clone. Installs and builds what is missing, installs the external
// programs that the tests use, runs the checks, then the tests. The last line on standard output is always `N
// passed, N failed, N skipped`.
//
// `npm test -- FILTER…` hands its arguments to vitest and leaves the checks out.
import { writeSync } from 'node:fs';
import { bootstrap, orExplain } from './bootstrap/bootstrap.mjs';
import { say } from './bootstrap/say.mjs';
import { ensureServices } from './bootstrap/services.mjs';
import { checks, runChecks } from './check/checks.mjs';
import { runVitest } from './test/run-vitest.mjs';
import { formatCounts } from './test/test-report.mjs';

const args = process.argv.slice(2);
let counts = { passed: 0, failed: 1, skipped: 0 };
process.on('exit', () => writeSync(process.stdout.fd, `${formatCounts(counts)}\n`));

// Debian packages are mostly waited for, so they are installed beside the rest. The build uses little more than one
// core, so the checks that do not need it run beside it.
const services = orExplain(ensureServices);
await bootstrap();
const [failedEarly] = await Promise.all([runStaticChecks(false), bootstrap('.'), services]);
const failedChecks = failedEarly + (await runStaticChecks(true));
if (failedChecks > 0) {
  const what = failedChecks === 1 ? 'A check' : `${failedChecks} checks`;
  say(`${what} failed, so no test was run. "npm run check" repeats only the checks.`);
  counts = { passed: 0, failed: failedChecks, skipped: 0 };
} else {
  counts = await runVitest(args);
}
process.exitCode = counts.failed === 0 ? 0 : 1;

/**
 * The build has checked the types, and the rules are tests of project `unit`.
 *
 * @param {boolean} needsBuild
 */
async function runStaticChecks(needsBuild) {
  if (args.length > 0) return 0;
  const covered = new Set(['types', 'rules']);
  const uncovered = checks.filter((check) => !covered.has(check.name));
  return runChecks(uncovered.filter((check) => (check.needsBuild ?? false) === needsBuild));
}
