// F6  When outcomes and faults have stopped, every view of a live seed equals what the service holds, except for the
//     time that its last value was in flight. After wall clocks were set, the check waits until no instance uses a
//     structure from that time (a service whose clock is ahead has evicted it, but its clients have not); after that
//     there are no exceptions.
import type { Namespace } from '@syncline/fair';
import { NEGLIGIBLE_PROBABILITY } from '../cell-model.js';
import type { ClientProcess } from '../client-process.js';
import { FLOW_KEYS } from '../fair-plan.js';
import type { ServiceProcess } from '../service-process.js';

/** Trackers count whole ms. */
const ROUNDING_MS = 2;

/** Undefined when they agree, otherwise where they differ. */
export function differenceOf(client: ClientProcess, service: ServiceProcess): string | undefined {
  const { connected, pendingCells, seeds } = client.tracker.status();
  const { node } = client.plan;
  if (!connected) return `${node} is not connected`;
  if (pendingCells > 0) return `${node} has ${pendingCells} cells pending`;
  for (const key of FLOW_KEYS) {
    const { levels, secondaryProbability } = client.tracker.peek(key);
    const main = compareFlow(client, service, { key, seed: seeds.main });
    for (const { level, probability } of levels) {
      const differs = main.differs(level, probability);
      if (differs !== undefined) return `${node}, ${key}, seed ${seeds.main}: ${differs}`;
    }
    const secondary = compareFlow(client, service, { key, seed: seeds.secondary });
    const differs = secondary.lowestDiffers(secondaryProbability);
    if (differs !== undefined) return `${node}, ${key}, seed ${seeds.secondary}: ${differs}`;
  }
  return undefined;
}

function compareFlow(
  { plan, delays, flowCells }: ClientProcess,
  { store, monotonicMs }: ServiceProcess,
  { key, seed }: { readonly key: string; readonly seed: number },
) {
  const { tracker, shape } = plan;
  const { policy, ratePerSecond, columns, windowMs } = shape;
  const rule = tracker === '' ? ({ policy: 'sum' } as const) : { policy, ratePerSecond };
  const namespace: Namespace = { name: tracker, rule, shape: undefined, windowMs };
  const held = flowCells.of(shape, key, seed).map((cell) => {
    const place = { row: Math.floor(cell / columns), column: cell % columns };
    const delayMs = delays.ofCell(seed, place.row, place.column) + ROUNDING_MS;
    return {
      isTouched: store.model.has(namespace, BigInt(seed), place),
      probability: store.model.probability(namespace, BigInt(seed), place, monotonicMs),
      tolerance: 2 * NEGLIGIBLE_PROBABILITY + (ratePerSecond * delayMs) / 1000,
    };
  });
  // The original contract only sends touched cells; for the others a client only knows its own outcomes.
  const isKnown = (isTouched: boolean) => tracker !== '' || isTouched;
  return {
    differs(level: number, probability: number): string | undefined {
      const cell = held[level];
      if (cell === undefined || !isKnown(cell.isTouched)) return undefined;
      const isEqual = Math.abs(cell.probability - probability) <= cell.tolerance;
      return isEqual
        ? undefined
        : `${probability} at level ${level}, but the service holds ${cell.probability}`;
    },
    lowestDiffers(probability: number): string | undefined {
      if (!held.every(({ isTouched }) => isKnown(isTouched))) return undefined;
      const lowest = Math.min(...held.map((cell) => cell.probability));
      const tolerance = Math.max(...held.map((cell) => cell.tolerance));
      const isEqual = Math.abs(lowest - probability) <= tolerance;
      return isEqual
        ? undefined
        : `${probability} at the lowest level, but the service holds ${lowest}`;
    },
  };
}
