// Said when a stop was asked for. On a terminal it begins on a new line, behind the ^C.
import { type CliWorld, say } from '../cli-world.js';

export function sayStopping(world: CliWorld, graceMs: number): void {
  if (world.stderr.isTTY !== true) return; // the log says so
  say(world, `\nStopping (up to ${graceMs / 1000} s). Press Ctrl-C again to force quit.`);
}
