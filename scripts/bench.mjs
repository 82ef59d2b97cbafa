// `npm run bench`: installs and builds what is missing, then measures. See bench/README.md.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bootstrap } from './bootstrap/bootstrap.mjs';
import { currentCommit } from './bootstrap/current-commit.mjs';
import { root } from './bootstrap/root.mjs';

await bootstrap('bench');
const program = pathToFileURL(join(root, 'bench/dist/run.js'));
const { runBenches } = /** @type {typeof import('../bench/run.js')} */ (await import(program.href));
process.exitCode = await runBenches(process.argv.slice(2), { commit: currentCommit() });
