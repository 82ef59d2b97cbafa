// Builds one page of states from changes in order of revisions: so many, so many bytes, at least one.
import type { JobChange } from '../core/rows.js';
import { type JobFilter, matchesFilter } from '../engine/job-filter.js';
import type { StatePage } from '../job-store.js';
import { jobsLimits } from '../limits.js';
import type { Scope, State } from '../state.js';
import { stateBytes } from './state-bytes.js';

export type PageBounds = Readonly<{ afterRevision: number; limit: number }>;

export class StatePageBuilder {
  readonly #filter: JobFilter;
  readonly #bounds: PageBounds;
  readonly #states: State[] = [];
  #bytes = 0;
  #isFull = false;

  constructor(scope: Scope, bounds: PageBounds) {
    this.#filter = { scope, withLeases: false, withJob: false };
    this.#bounds = bounds;
  }

  /** `full`: it was left out, and so is everything after it. What is not in scope is passed over. */
  add(change: JobChange): 'taken' | 'full' {
    if (change.kind !== 'state' || !matchesFilter(this.#filter, { kind: 'state', ...change.state }))
      return 'taken';
    this.#bytes += stateBytes(change.state);
    const isFull =
      this.#states.length === this.#bounds.limit ||
      this.#bytes > jobsLimits.listStatesBytesMax.value;
    if (isFull && this.#states.length > 0) this.#isFull = true;
    else this.#states.push(change.state);
    return this.#isFull ? 'full' : 'taken';
  }

  /** `revision`: everything up to here was added, if nothing was left out. */
  page(incarnation: string, revision: number): StatePage {
    const last = this.#states.at(-1)?.revision ?? 0;
    const through = this.#isFull ? last : Math.max(last, revision, this.#bounds.afterRevision);
    return { states: this.#states, revision: through, incarnation, more: this.#isFull };
  }
}
