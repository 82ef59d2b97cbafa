// Metrics that turn rare counts into probes, so that many seeds together must have reached each of them, and
// that record how much a client dropped.
import type { FairMetricName } from '@syncline/fair';
import type { Chaos, Labels, Metrics } from '@syncline/kernel';

/** `name` alone, or `name` with the value of the label that distinguishes its cases. */
const PROBES: Readonly<Record<string, string>> = {
  'client_rounds_total resent': 'fair/round-resent',
  'client_dropped_deltas_total budget': 'fair/given-up',
  'client_dropped_deltas_total rotated': 'fair/rotated-away',
  client_epoch_changes_total: 'fair/epoch-changed',
  'deltas_total duplicate': 'fair/duplicate-refused',
  'deltas_total epoch': 'fair/delta-of-another-epoch',
  'deltas_total evicted': 'fair/delta-too-old',
  'deltas_total future': 'fair/delta-too-early',
  'views_total joined': 'fair/view-joined',
  'views_total ignored': 'fair/view-ignored',
  evicted_cells_total: 'fair/evicted',
  coalesced_cells_total: 'fair/coalesced',
};

export class ProbingMetrics implements Metrics<FairMetricName> {
  readonly #chaos: Chaos;
  /** Folds that the client of this process has dropped. */
  droppedCount = 0;

  constructor(chaos: Chaos) {
    this.#chaos = chaos;
  }

  add(name: FairMetricName, amount = 1, labels: Labels = {}): void {
    if (amount === 0) return;
    const short = name.replace('syncline_fair_', '');
    if (short === 'client_dropped_deltas_total') this.droppedCount += amount;
    const label = labels['result'] ?? labels['reason'];
    const probe = PROBES[label === undefined ? short : `${short} ${label}`];
    if (probe !== undefined) this.#chaos.probe(probe);
  }

  set(name: FairMetricName, value: number): void {
    if (value > 0 && name === 'syncline_fair_streams_behind') this.#chaos.probe('fair/behind');
    if (value > 1 && name === 'syncline_fair_client_gain') this.#chaos.probe('fair/gain');
  }

  observe(): void {}
}

export const METRIC_PROBES: readonly string[] = [
  ...Object.values(PROBES),
  'fair/behind',
  'fair/gain',
];
