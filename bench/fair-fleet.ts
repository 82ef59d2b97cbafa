// Trackers in one process that share their state, for the fair benches: all connected, with a callback for each
// message that one has merged into its view.
import { randomBytes } from 'node:crypto';
import { setTimeout as afterMs } from 'node:timers/promises';
import {
  createFairTracker,
  type FairRemote,
  type FairTracker,
  type FairTrackerOptions,
  type SyncResponse,
} from '@syncline/fair';

const CONNECT_TIMEOUT_MS = 20_000;

export interface FleetOptions extends FairTrackerOptions {
  readonly count: number;
  readonly remote: FairRemote;
  /** A tracker has merged a message into its view. */
  onTaken?(tracker: number, response: SyncResponse): void;
}

export interface Fleet extends AsyncDisposable {
  readonly trackers: readonly FairTracker[];
}

export async function openFleet(options: FleetOptions): Promise<Fleet> {
  const { count, remote, onTaken = () => {}, ...trackerOptions } = options;
  const secret = randomBytes(32);
  const trackers = Array.from({ length: count }, (_, index) =>
    createFairTracker({
      ...trackerOptions,
      secret,
      remote: watched(remote, (response) => onTaken(index, response)),
    }),
  );
  const fleet: Fleet = {
    trackers,
    async [Symbol.asyncDispose]() {
      await Promise.all(trackers.map((tracker) => tracker.close()));
    },
  };
  await untilConnected(trackers);
  return fleet;
}

/** Resolves when all are in sync with the shared state. */
export async function untilConnected(trackers: readonly FairTracker[]): Promise<void> {
  const deadlineMs = performance.now() + CONNECT_TIMEOUT_MS;
  while (!trackers.every((tracker) => tracker.status().connected)) {
    if (performance.now() > deadlineMs)
      throw new Error(`not all trackers were connected within ${CONNECT_TIMEOUT_MS} ms`);
    await afterMs(1);
  }
}

function watched(remote: FairRemote, onTaken: (response: SyncResponse) => void): FairRemote {
  return {
    ...remote,
    createTransport(deps) {
      const transport = remote.createTransport(deps);
      return {
        open: (listener) =>
          transport.open({
            onMessage(response) {
              listener.onMessage(response);
              onTaken(response);
            },
            onDrain: () => listener.onDrain(),
            onEnd: (error) => listener.onEnd(error),
          }),
        close: () => transport.close(),
      };
    },
  };
}
