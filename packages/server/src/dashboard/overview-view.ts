// The overview: this node and its problems, each kind of state with its rates, and the peers.
import type { ServerStatus } from '../server-status.js';
import { type LiveView, snapshotSource } from './live-view.js';

const INTERVAL_MS = 1_000;

export function overviewView(status: () => ServerStatus): LiveView {
  return {
    name: 'overview',
    parameters: [],
    open: (_, { rates }) =>
      snapshotSource(INTERVAL_MS, () => {
        const { slices, ...node } = status();
        return {
          ...node,
          slices: slices.map((slice) => ({ ...slice, rates: rates.of(slice.name) })),
        };
      }),
  };
}
