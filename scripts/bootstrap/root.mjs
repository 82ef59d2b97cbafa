// The root of the repository, so that each script works from any working directory.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../', import.meta.url));

/** Logs, stamps and reports of the scripts. Never committed, safe to delete. */
export const cacheDirectory = join(root, '.cache');
