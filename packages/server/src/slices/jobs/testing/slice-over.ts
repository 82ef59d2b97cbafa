// The HTTP routes of the jobs over a store that the test writes to directly.
import { type JobStore, jobsLimits } from '@syncline/jobs';
import type { Slice } from '../../../slice.js';
import { jobRoutes } from '../job-routes.js';

export function sliceOver(store: JobStore): Slice {
  return {
    name: 'jobs',
    metrics: {},
    limits: jobsLimits,
    listeners: [],
    start: async (deps) => ({
      http: jobRoutes({ ...deps, store }),
      status: () => ({ health: { kind: 'ready' }, details: {} }),
      stop: () => store.close(),
    }),
  };
}
