// The wish to stop. The first signal asks for it and the second forces it: whoever presses Ctrl-C
// twice does not want to wait.
import { type CliWorld, type StopEvent, say } from '../cli-world.js';

export interface StopRequest {
  readonly event: StopEvent;
}

/** Resolves with the first event. `beforeForcedEnd` is the last that runs after a second one. */
export function listenForStop(
  world: CliWorld,
  beforeForcedEnd: () => void = () => {},
): Promise<StopRequest> {
  return new Promise((resolve) => {
    let isStopping = false;
    world.onStopEvent((event) => {
      if (isStopping && event !== 'disconnect') {
        say(world, `syncline: ${event} again: ended without waiting for what was under way.`);
        beforeForcedEnd();
        world.exitNow(1);
      }
      isStopping = true;
      resolve({ event });
    });
  });
}
