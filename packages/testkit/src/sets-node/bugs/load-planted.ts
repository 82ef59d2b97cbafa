// Loads the sets with a bug in them, once per bug.
import type { openSets } from '@syncline/sets';
import { loadEdited } from '../../simulation/load-edited.js';
import { type PlantedSetsBug, SOURCE_EDITS } from './planted-bug.js';

const loaded = new Map<PlantedSetsBug, Promise<typeof openSets>>();

export function loadPlanted(bug: PlantedSetsBug): Promise<typeof openSets> {
  const loading = loaded.get(bug) ?? load(bug);
  loaded.set(bug, loading);
  return loading;
}

async function load(bug: PlantedSetsBug): Promise<typeof openSets> {
  const edits = SOURCE_EDITS[bug];
  const module = await loadEdited({ folder: 'sets', entry: 'open-sets', bug, edits });
  return (module as { openSets: typeof openSets }).openSets;
}
