// Builds projects and what they refer to. `tsc -b` itself detects what is up to date, in well under half a
// second, so we keep no stamp that could be wrong.
import { runStep } from './step.mjs';

/** @param {readonly string[]} projects Folders with a tsconfig.json, relative to the repository. */
export async function ensureBuilt(projects) {
  await runStep({
    name: 'build',
    title: `Building (tsc -b ${projects.join(' ')}) …`,
    silentMs: 700,
    command: process.execPath,
    args: ['node_modules/typescript/bin/tsc', '-b', ...projects],
    hint: 'The sources do not compile.',
  });
}
