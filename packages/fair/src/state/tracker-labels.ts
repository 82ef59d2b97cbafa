// Values of the metric label `tracker`. Names come from clients and trackers come and go, so the number of
// values is limited here: what comes later is counted together.
import { fairLimits } from '../limits.js';

export const DEFAULT_LABEL = 'default';
const OTHER_LABEL = 'other';

export class TrackerLabels {
  readonly #names = new Set<string>([DEFAULT_LABEL, OTHER_LABEL]);

  labelOf(tracker: string): string {
    if (tracker === DEFAULT_LABEL) return OTHER_LABEL; // a tracker of that name is not the namespace
    if (this.#names.has(tracker)) return tracker;
    if (this.#names.size >= fairLimits.trackersMax.value) return OTHER_LABEL;
    this.#names.add(tracker);
    return tracker;
  }

  /** The default label for a name that has none yet. */
  knownLabelOf(tracker: string): string {
    return this.#names.has(tracker) ? tracker : DEFAULT_LABEL;
  }
}
