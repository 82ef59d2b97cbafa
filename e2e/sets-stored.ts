// Reads the sets that a stopped server has left. Works on a copy, because opening a log truncates it.
import { cp, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { createSystemFiles } from '@syncline/kernel/node';
import { readStoredSets, type StoredSets } from '@syncline/sets/testing';
import { makeTempDirectory } from '@syncline/testkit';

/** The default node id and cluster id of a server. */
const OWNER = { nodeId: 1, clusterId: 'syncline' };

export interface LeftSets extends StoredSets {
  /** Members by set. */
  readonly members: ReadonlyMap<string, ReadonlySet<string>>;
  /** A checkpoint was interrupted. */
  readonly hasPartialCheckpoint: boolean;
}

/** A copy of what was left, so that the server can be restarted while it is read. */
export interface LeftSetsCopy extends AsyncDisposable {
  read(): Promise<LeftSets>;
}

export async function copyLeftSets(dataDir: string): Promise<LeftSetsCopy> {
  const copy = await makeTempDirectory('left');
  const directory = join(dataDir, 'sets');
  const isWanted = (path: string) => basename(path) !== 'reserve';
  await cp(directory, copy.path, { recursive: true, filter: isWanted });
  const names = await readdir(join(directory, 'checkpoint'));
  return {
    async read() {
      const stored = await readStoredSets(createSystemFiles(copy.path), OWNER);
      const hasPartialCheckpoint = names.some((name) => name.endsWith('.tmp'));
      return { ...stored, members: bySet(stored), hasPartialCheckpoint };
    },
    [Symbol.asyncDispose]: () => copy[Symbol.asyncDispose](),
  };
}

function bySet({ sets }: StoredSets): ReadonlyMap<string, ReadonlySet<string>> {
  return new Map(sets.setNames().map((set) => [set, new Set(sets.members(set))]));
}
