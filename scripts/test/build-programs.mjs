// Runs once before the tests, which use the build: it must not be older than the sources, so nothing is run if they do
// not compile.
import { ensureBuilt } from '../bootstrap/build.mjs';
import { withBootstrapLock } from '../bootstrap/lock.mjs';
import { ensurePageBuilt } from '../bootstrap/page.mjs';
import { bundlePrograms } from './bundle-programs.mjs';

export async function setup() {
  await withBootstrapLock(async () => {
    await ensureBuilt(['packages/cli', 'packages/streams', 'packages/testkit', 'examples']);
    await ensurePageBuilt();
    await bundlePrograms();
  });
}
