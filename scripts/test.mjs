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

// Debian packages are mostly waited for, so they are installed beside the rest.
await Promise.all([bootstrap('.'), orExplain(ensureServices)]);
const failedChecks = args.length === 0 ? await runStaticChecks() : 0;
if (failedChecks > 0) {
  const what = failedChecks === 1 ? 'A check' : `${failedChecks} checks`;
  say(`${what} failed, so no test was run. "npm run check" repeats only the checks.`);
  counts = { passed: 0, failed: failedChecks, skipped: 0 };
} else {
  counts = await runVitest(args);
}
process.exitCode = counts.failed === 0 ? 0 : 1;

/** The build has checked the types, and the rules are tests of project `unit`. */
async function runStaticChecks() {
  const covered = new Set(['types', 'rules']);
  return runChecks(checks.filter((check) => !covered.has(check.name)));
}
