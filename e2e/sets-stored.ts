// Reads what a server that is not running has left of its sets. Works on a copy, because opening a log cuts it.
import { cp, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { createSystemFiles } from '@syncline/kernel';
import { readStoredSets, type StoredSets } from '@syncline/sets/testing';
import { makeTempDirectory } from '@syncline/testkit';

/** Node id and cluster id that a server has by default. */
const OWNER = { nodeId: 1, clusterId: 'syncline' };

export interface LeftSets extends StoredSets {
  /** Members by set. */
  readonly members: ReadonlyMap<string, ReadonlySet<string>>;
  /** A checkpoint was interrupted. */
  readonly hasPartialCheckpoint: boolean;
}

export async function readLeftSets(dataDir: string): Promise<LeftSets> {
  await using copy = await makeTempDirectory('left');
  const directory = join(dataDir, 'sets');
  const isWanted = (path: string) => basename(path) !== 'reserve';
  await cp(directory, copy.path, { recursive: true, filter: isWanted });
  const names = await readdir(join(directory, 'checkpoint'));
  const stored = await readStoredSets(createSystemFiles(copy.path), OWNER);
  return {
    ...stored,
    members: bySet(stored),
    hasPartialCheckpoint: names.some((name) => name.endsWith('.tmp')),
  };
}

function bySet({ sets }: StoredSets): ReadonlyMap<string, ReadonlySet<string>> {
  return new Map(sets.setNames().map((set) => [set, new Set(sets.members(set))]));
}
