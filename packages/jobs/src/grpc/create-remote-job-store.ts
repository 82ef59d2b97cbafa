// `createRemoteJobStore`: the jobs of a Syncline server as a store of this process.
import {
  type Clock,
  createSystemClock,
  createSystemRandom,
  type Random,
  silentMetrics,
} from '@syncline/kernel';
import { checkGrpcTarget, type GrpcTargetOptions } from '@syncline/protocol';
import { checkReconnect } from '../checks/reconnect-input.js';
import type { JobStore } from '../job-store.js';
import type { JobsMetrics } from '../metrics-list.js';
import type { ReconnectOptions } from '../reconnect.js';
import { RemoteJobStore } from './remote-job-store.js';

export interface RemoteJobStoreOptions extends GrpcTargetOptions {
  /** How a subscription that lost the server comes back to it. */
  readonly reconnect?: ReconnectOptions;
}

/** Defaults: the system's clock and chance, and no metrics. */
export interface RemoteJobStoreDeps {
  readonly clock?: Clock;
  readonly random?: Random;
  readonly metrics?: JobsMetrics;
}

/** Connects at the first call. Throws `invalid-argument`, with `details.field`. */
export function createRemoteJobStore(
  options: RemoteJobStoreOptions,
  deps: RemoteJobStoreDeps = {},
): JobStore {
  const { clock = createSystemClock(), random = createSystemRandom() } = deps;
  const { metrics = silentMetrics } = deps;
  const target = checkGrpcTarget('the remote job store', options);
  const reconnect = checkReconnect(options.reconnect);
  return new RemoteJobStore({ clock, random, metrics }, { target, reconnect });
}
