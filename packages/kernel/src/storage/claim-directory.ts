// Claims a data directory for this process, before anything in it is opened.
//
// Node has no file locks, and an exclusive file outlives a kill -9: whether its owner is still alive is a guess
// about process ids, reboots and containers. LevelDB does take a lock that the system releases. So a claim is
// an empty LevelDB in `claim/`, and `owner.json` names its owner.
import { join } from 'node:path';
import type { Clock } from '../clock.js';
import { holdDirectory } from './directory-hold.js';
import { openLevel } from './level-open.js';
import type { DirectoryOwner } from './owner-file.js';

export interface ClaimDirectoryDeps {
  readonly clock: Clock;
}

export interface DirectoryClaim extends AsyncDisposable {
  readonly directory: string;
  /** This process, as `owner.json` names it. */
  readonly owner: DirectoryOwner;
  /** Releases the directory for others. A second call does nothing. */
  release(): Promise<void>;
}

/** Creates the directory if needed. Throws `locked` when it is in use, and names the holder. */
export async function claimDirectory(
  deps: ClaimDirectoryDeps,
  directory: string,
): Promise<DirectoryClaim> {
  const { owner, database, release } = await holdDirectory(deps.clock, directory, () =>
    openLevel(join(directory, 'claim')),
  );
  let released: Promise<void> | undefined;
  const releaseOnce = () => {
    released ??= release(() => database.close());
    return released;
  };
  return { directory, owner, release: releaseOnce, [Symbol.asyncDispose]: releaseOnce };
}
