// The fair view of the dashboard: trackers with their instances and rates, and the cells of one as a heat map.
import type { NamespaceFacts, StateService } from '@syncline/fair';
import { type LiveView, snapshotSource } from '../../dashboard/live-view.js';
import type { RateDefinition } from '../../dashboard/rate-history.js';
import { serverLimits } from '../../limits.js';
import type { CallerReports } from './caller-reports.js';

const INTERVAL_MS = 1_000;

export const fairRates: readonly RateDefinition[] = [
  { name: 'updates', metric: 'syncline_fair_deltas_total', by: 'tracker' },
  { name: 'invalid messages', metric: 'syncline_fair_rejected_messages_total', by: 'tracker' },
];

function withoutCells(namespace: NamespaceFacts): Omit<NamespaceFacts, 'highest'> {
  const { highest: _, ...rest } = namespace;
  return rest;
}

export function fairView(service: StateService, callers: CallerReports): LiveView {
  return {
    name: 'fair',
    parameters: ['tracker'],
    open(query, { rates }) {
      const chosen = query.get('tracker');
      return snapshotSource(INTERVAL_MS, () => {
        const { namespaces, ...status } = service.describe(serverLimits.liveCellsMax.value);
        const shown =
          chosen === null || chosen === ''
            ? // The largest one, so that a newly opened page shows something.
              namespaces.toSorted((a, b) => b.cells - a.cells)[0]
            : namespaces.find(({ tracker }) => tracker === chosen);
        const seeds = new Map(shown?.seeds.map(({ seed }, index) => [seed, index]));
        return {
          ...status,
          rates: rates.of('fair'),
          trackers: namespaces.map(withoutCells),
          shown: shown?.tracker,
          callers: shown === undefined ? [] : callers.of(shown.tracker),
          // Arrays instead of objects, which would be five times as long: seed, row, column, per mille, age.
          cells: shown?.highest.map(({ seed, row, column, probability, ageMs }) => [
            seeds.get(seed) ?? 0,
            row,
            column,
            Math.round(probability * 1_000),
            Math.round(ageMs ?? -1),
          ]),
        };
      });
    },
  };
}
