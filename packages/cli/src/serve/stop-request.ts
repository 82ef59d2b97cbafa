// The wish to stop. The first signal asks for it and the second forces it: whoever presses Ctrl-C
// twice does not want to wait.
import { type CliWorld, type StopEvent, say } from '../cli-world.js';

/**
 * Resolves with the first event. A promise of a value, not of a promise, so that one can wait for it
 * later than it came.
 */
export function listenForStop(world: CliWorld): Promise<{ readonly event: StopEvent }> {
  return new Promise((resolve) => {
    let isStopping = false;
    world.onStopEvent((event) => {
      if (isStopping && event !== 'disconnect') {
        say(world, `syncline: ${event} again: ended without waiting for what was under way.`);
        world.exitNow(1);
      }
      isStopping = true;
      resolve({ event });
    });
  });
}
