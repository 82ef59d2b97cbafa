// How fleets are opened, for each way of sharing.
import { type OpenFleet, openIsolatedFleet } from '@syncline/fair/testing';
import { SynclineError } from '@syncline/kernel';
import type { EvalPlan, Via } from './eval-plan.js';
import { openServiceFleet } from './service-fleet.js';

export interface FleetOpeners {
  readonly fleets: Readonly<Record<Via, OpenFleet>>;
  close(): Promise<void>;
}

export async function openFleets(_plan: EvalPlan): Promise<FleetOpeners> {
  const missing: OpenFleet = async () => {
    throw new SynclineError('unavailable', 'instances cannot share yet.');
  };
  return {
    fleets: { isolated: openIsolatedFleet, service: openServiceFleet, redis: missing },
    async close() {},
  };
}
