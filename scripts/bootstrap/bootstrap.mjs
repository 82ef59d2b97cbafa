// From a fresh clone to something that runs: the right Node, the packages, the build. Every script
// that needs them calls this first; it costs about half a second when nothing is missing.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureBuilt } from './build.mjs';
import { ensureInstalled } from './install.mjs';
import { withBootstrapLock } from './lock.mjs';
import { nodeVersionProblem } from './node-version.mjs';
import { ensurePageBuilt } from './page.mjs';
import { root } from './root.mjs';
import { say } from './say.mjs';
import { StepError } from './step.mjs';

/**
 * Ends the process with exit code 1 and a message on standard error if that fails.
 *
 * @param {string} [project] What to build. Default: nothing.
 */
export async function bootstrap(project) {
  const { engines } = /** @type {{ engines: { node: string } }} */ (
    JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  );
  const problem = nodeVersionProblem(process.versions.node, engines.node);
  if (problem !== undefined) endWith(problem);
  await orExplain(() =>
    withBootstrapLock(async () => {
      await ensureInstalled();
      if (project === undefined) return;
      await ensureBuilt([project]);
      await ensurePageBuilt();
    }),
  );
}

/**
 * Runs a part of a script; a failure that a person can act on is reported without a stack.
 *
 * @param {() => Promise<void>} work
 */
export async function orExplain(work) {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof StepError)) throw error;
    endWith(error.message);
  }
}

/**
 * @param {string} message
 * @returns {never}
 */
function endWith(message) {
  say(message);
  process.exit(1);
}
