// `npm run proto`: checks the contracts in proto/ and generates the code of packages/protocol from them.
// The code is committed, so that nothing but this needs the compiler; a test compares the two.
import { bootstrap } from './bootstrap/bootstrap.mjs';
import { runCheck } from './check/run-check.mjs';

const program = '@bufbuild/buf/bin/buf';

await bootstrap();
const passed =
  (await runCheck({ name: 'lint', program, args: ['lint'] })) &&
  (await runCheck({ name: 'generate', program, args: ['generate', '--clean'] }));
process.exitCode = passed ? 0 : 1;
