// `npm run test:sim -- --seeds N`: simulated clusters, each from one seed. See docs/SIMULATION.md.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bootstrap } from './bootstrap/bootstrap.mjs';
import { currentCommit } from './bootstrap/current-commit.mjs';
import { root } from './bootstrap/root.mjs';

await bootstrap('packages/testkit');
const entry = join(root, 'packages/testkit/dist/index.js');
const { runSimCommand } = /** @type {typeof import('@syncline/testkit')} */ (
  await import(pathToFileURL(entry).href)
);
process.exitCode = await runSimCommand(process.argv.slice(2), {
  writeOut: (text) => process.stdout.write(text),
  writeError: (text) => process.stderr.write(text),
  commit: currentCommit(),
});
