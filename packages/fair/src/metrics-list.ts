// Every metric of the fair slice. No label ever holds a flow key.
import type { MetricDefinitions } from '@syncline/kernel';

export const fairMetrics = {
  syncline_fair_decisions_total: {
    kind: 'counter',
    help: 'Requests that were asked for: admitted, throttled, shadow (would have been throttled), allowed (on the allow list), or untracked (without a key).',
    labels: ['tracker', 'decision'],
  },
  syncline_fair_outcomes_total: {
    kind: 'counter',
    help: 'Outcomes that were reported: success, failure or ignore.',
    labels: ['tracker', 'outcome'],
  },
} as const satisfies MetricDefinitions;

export type FairMetricName = keyof typeof fairMetrics;
