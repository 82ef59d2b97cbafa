// Events as lines of JSON, for programs. That the server is out of reach is an event too, and words on standard
// error tell people why.
import { type CliWorld, say } from '../cli-world.js';
import { printable, printableJson } from '../printable.js';
import type { FollowItem } from './follow-job.js';
import type { WatchOutput } from './watch-output.js';

export class EventLines implements WatchOutput {
  readonly #world: CliWorld;
  #isDown = false;

  constructor(world: CliWorld) {
    this.#world = world;
  }

  get isUnread(): boolean {
    return this.#world.stdout.isUnread === true;
  }

  show(item: FollowItem): void {
    const events = item.kind === 'events' ? item.events : [item.event];
    for (const event of events) this.#world.stdout.write(`${printableJson(event, 0)}\n`);
    if (item.kind === 'down' && !this.#isDown)
      say(this.#world, `syncline: ${printable(item.reason)}. Trying again.`);
    this.#isDown = item.kind === 'down';
  }

  end(): void {}
}
