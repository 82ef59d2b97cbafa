// Hands out the changes that a subscriber asked for, page by page.
import type { JobChange } from '../core/rows.js';
import { jobsLimits } from '../limits.js';
import { type JobFilter, matchesFilter } from '../subscription/job-filter.js';

export async function* filteredPages(
  changes: Iterable<JobChange>,
  filter: JobFilter,
): AsyncGenerator<readonly JobChange[]> {
  const { value: pageMax } = jobsLimits.listStatesMax;
  let page: JobChange[] = [];
  for (const change of changes) {
    if (!matchesFilter(filter, change)) continue;
    page.push(change);
    if (page.length < pageMax) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}
