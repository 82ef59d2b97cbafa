// The code under test: the real code, or a copy of it with a bug, loaded once per bug.
import { createJobManager, createJobReader, openEmbeddedJobStore } from '@syncline/jobs';
import { loadEdited } from '../../simulation/load-edited.js';
import { type PlantedJobsBug, SOURCE_EDITS } from './planted-bug.js';

export interface JobsCode {
  readonly openEmbeddedJobStore: typeof openEmbeddedJobStore;
  readonly createJobManager: typeof createJobManager;
  readonly createJobReader: typeof createJobReader;
}

export const REAL_CODE: JobsCode = { openEmbeddedJobStore, createJobManager, createJobReader };

const loaded = new Map<PlantedJobsBug, Promise<JobsCode>>();

export function loadPlanted(bug: PlantedJobsBug): Promise<JobsCode> {
  const loading = loaded.get(bug) ?? load(bug);
  loaded.set(bug, loading);
  return loading;
}

async function load(bug: PlantedJobsBug): Promise<JobsCode> {
  const edits = SOURCE_EDITS[bug];
  return (await loadEdited({ folder: 'jobs', entry: 'index', bug, edits })) as JobsCode;
}
