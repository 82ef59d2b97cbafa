// The message after Ctrl-C. It begins on a new line, after the ^C that the terminal shows.
import { type CliWorld, say } from '../cli-world.js';

export function sayStopping(world: CliWorld, graceMs: number): void {
  if (world.stderr.isTTY !== true) return; // the log says so
  say(world, `\nStopping (up to ${graceMs / 1000} s). Press Ctrl-C again to force quit.`);
}
