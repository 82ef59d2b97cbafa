// `npm run check`: format, lint, types, dead code and the rules of this repository. Runs all, even
// when one fails. `npm run check -- --fix` formats first.
import { bootstrap } from './bootstrap/bootstrap.mjs';
import { say, secondsSince } from './bootstrap/say.mjs';
import { checks, runChecks } from './check/checks.mjs';
import { runCheck } from './check/run-check.mjs';

const startMs = performance.now();
await bootstrap();
if (process.argv.includes('--fix')) {
  await runCheck({ name: 'fix', program: '@biomejs/biome/bin/biome', args: ['check', '--write'] });
}
const failedCount = await runChecks(checks);
say(`${checks.length - failedCount} of ${checks.length} checks passed in ${secondsSince(startMs)}`);
process.exitCode = failedCount === 0 ? 0 : 1;
