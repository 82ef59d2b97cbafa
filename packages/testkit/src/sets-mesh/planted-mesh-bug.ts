// Bugs that a cluster can be given, one at a time, to prove that the simulation finds them. None is in the code under
// test: each is an edit of the text of a module, which is loaded beside the real one.
import { createMesh } from '@syncline/mesh';
import { openSets } from '@syncline/sets';
import { loadEdited, type SourceEdit } from '../simulation/load-edited.js';
import type { MeshCode } from './mesh-process.js';

interface Bug {
  /** The expected failure. A run that failed for another reason would prove nothing. */
  readonly symptom: RegExp;
  readonly folder: 'mesh' | 'sets';
  readonly edits: readonly SourceEdit[];
}

const bugs: Readonly<Record<string, Bug>> = {};

export const PLANTED_MESH_BUGS = Object.keys(bugs);

export function isPlantedMeshBug(name: string): boolean {
  return Object.hasOwn(bugs, name);
}

export function symptomOf(name: string): RegExp {
  return bugs[name]?.symptom ?? /^$/;
}

const loaded = new Map<string, Promise<unknown>>();

/** Loads the sets and the mesh with a bug in one of them, once per bug. */
export async function loadPlanted(name: string): Promise<MeshCode> {
  const { folder, edits } = bugs[name] ?? { folder: 'sets', edits: [] };
  const entry = folder === 'sets' ? 'local-sets' : 'open-mesh';
  const loading = loaded.get(name) ?? loadEdited({ folder, entry, bug: name, edits });
  loaded.set(name, loading);
  const code = (await loading) as Partial<MeshCode>;
  return { createMesh, openSets, ...code };
}
