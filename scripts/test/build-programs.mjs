// Runs before the integration tests: the programs that they start as processes are compiled, so the
// build must not be older than the sources. A build that fails is only reported, because the tests of
// what does compile are still worth running.
import { ensureBuilt } from '../bootstrap/build.mjs';
import { withBootstrapLock } from '../bootstrap/lock.mjs';
import { ensurePageBuilt } from '../bootstrap/page.mjs';
import { say } from '../bootstrap/say.mjs';
import { StepError } from '../bootstrap/step.mjs';

export async function setup() {
  try {
    await withBootstrapLock(async () => {
      await ensureBuilt(['packages/cli', 'packages/streams', 'packages/testkit', 'examples']);
      await ensurePageBuilt();
    });
  } catch (error) {
    if (!(error instanceof StepError)) throw error;
    say(`${error.message}\nThe programs that these tests start are those of an older build.`);
  }
}
