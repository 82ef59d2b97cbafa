// Frames for subscribers that get the same events at the same time: those of one scope that are level. They are made
// once; who is out of step gets its own.
//
// Frames are found by the last of their events and compared event by event, which is comparing pointers: all
// subscribers of a store share the object of a change.
import type { JobEvent } from '../job-event.js';
import { jobsLimits } from '../limits.js';
import { framesOf } from './frame-writer.js';

interface Made {
  readonly events: readonly JobEvent[];
  readonly frames: readonly Uint8Array[];
}

export class FrameCache {
  /** Scopes may end with the same event, and differ before it. */
  readonly #byLast = new Map<JobEvent, Made[]>();
  #bytes = 0;

  /** Bytes of the frames that are kept. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The events as frames of bounded size, in order. Nobody may write into them. */
  framesOf(events: readonly JobEvent[]): readonly Uint8Array[] {
    const last = events.at(-1);
    if (last?.kind !== 'change') return [...framesOf(events)]; // of one subscriber alone, mostly
    const there = this.#byLast.get(last);
    const same = there?.find((made) => isSame(made.events, events));
    if (same !== undefined) return same.frames;
    const made = { events, frames: [...framesOf(events)] };
    this.#keep(last, made);
    return made.frames;
  }

  /** What comes next ends with other events. */
  clear(): void {
    this.#byLast.clear();
    this.#bytes = 0;
  }

  #keep(last: JobEvent, made: Made): void {
    const bytes = made.frames.reduce((sum, { length }) => sum + length, 0);
    const { value: bytesMax } = jobsLimits.sharedFramesBytesMax;
    if (this.#bytes + bytes > bytesMax) this.clear();
    if (bytes > bytesMax) return;
    this.#bytes += bytes;
    const there = this.#byLast.get(last);
    if (there === undefined) this.#byLast.set(last, [made]);
    else there.push(made);
  }
}

function isSame(some: readonly JobEvent[], others: readonly JobEvent[]): boolean {
  if (some.length !== others.length) return false;
  for (let at = 0; at < some.length; at += 1) if (some[at] !== others[at]) return false;
  return true;
}
