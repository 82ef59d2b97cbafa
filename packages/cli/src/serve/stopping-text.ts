// Said when a stop was asked for. On a terminal it begins on a new line, behind the ^C.
import { type CliWorld, say } from '../cli-world.js';

export function sayStopping(world: CliWorld, graceMs: number): void {
  if (world.stderr.isTTY !== true) return; // the log tells it
  say(world, `\nStopping, within ${graceMs / 1000} s. Once more ends it at once.`);
}
