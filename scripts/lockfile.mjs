// `npm run lockfile`: adds to package-lock.json the builds for other platforms that the registry in
// use does not offer, so that `npm ci` accepts the file on every machine.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './bootstrap/root.mjs';
import { say } from './bootstrap/say.mjs';
import { missingPlatformBuilds, withPlatformBuilds } from './lockfile/platform-builds.mjs';

const path = join(root, 'package-lock.json');
const lockfile = /** @type {import('./lockfile/platform-builds.mjs').Lockfile} */ (
  JSON.parse(readFileSync(path, 'utf8'))
);
const missingCount = Object.keys(missingPlatformBuilds(lockfile)).length;
if (missingCount > 0) {
  writeFileSync(path, `${JSON.stringify(withPlatformBuilds(lockfile), null, 2)}\n`);
}
say(`package-lock.json: ${missingCount} entries added`);
