// Handles stop signals. The first one requests a stop and the second forces it.
import { type CliWorld, type StopEvent, say } from '../cli-world.js';

export interface StopRequest {
  readonly event: StopEvent;
}

/** Resolves with the first event. A second one calls `beforeForcedEnd` and exits. */
export function listenForStop(
  world: CliWorld,
  beforeForcedEnd: () => void = () => {},
): Promise<StopRequest> {
  return new Promise((resolve) => {
    let last: StopEvent | undefined;
    world.onStopEvent((event) => {
      // A closed terminal may send SIGHUP several times, and a session that ends sends SIGTERM with it.
      const isRepeated = last !== undefined && last !== 'SIGHUP';
      if (isRepeated && event !== 'disconnect' && event !== 'SIGHUP') {
        say(world, `syncline: ${event} again: stopped without waiting for requests in flight.`);
        beforeForcedEnd();
        world.exitNow(1);
      }
      last = event;
      resolve({ event });
    });
  });
}
