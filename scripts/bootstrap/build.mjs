// Builds a project and what it refers to. `tsc -b` finds out by itself what is up to date, in well
// under half a second, so there is no stamp of our own that could be wrong.
import { runStep } from './step.mjs';

/** @param {string} project A folder with a tsconfig.json, relative to the repository. */
export async function ensureBuilt(project) {
  await runStep({
    name: 'build',
    title: `Building (tsc -b ${project}) …`,
    silentMs: 700,
    command: process.execPath,
    args: ['node_modules/typescript/bin/tsc', '-b', project],
    hint: 'The sources do not compile.',
  });
}
