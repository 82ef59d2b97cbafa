// What the program children/stream-pipeline.ts reads and writes, and how it is killed until it has finished.
import { setTimeout as sleep } from 'node:timers/promises';
import type { SeededRandom } from '@syncline/kernel/testing';
import { type ChildProgram, startChild } from './child-program.js';

export interface StreamPlan {
  /** The checkpoint directory. */
  readonly dir: string;
  readonly from:
    | { readonly kind: 'files'; readonly files: readonly string[] }
    | {
        readonly kind: 'redis' | 'nats';
        readonly url: string;
        readonly streams: readonly string[];
      };
  readonly to: {
    /** A directory of part files. */
    readonly files?: string;
    /** A stream of this name, and sums per user in the hash `<name>:sums`. */
    readonly redis?: { readonly url: string; readonly name: string };
  };
  /** How long each batch is held back. */
  readonly paceMs: number;
  readonly keepDeliveredMs: number;
}

export interface KillOptions {
  readonly random: SeededRandom;
  /** After this many kills it may run to its end. */
  readonly killsMax: number;
}

/** Where in a life the kill comes: any time in the start, after recovery, or after some checkpoints. */
const MOMENTS = [
  { part: 0.2, lines: 0, delayMs: 400 },
  { part: 0.4, lines: 1, delayMs: 150 },
  { part: 0.6, lines: 2, delayMs: 60 },
  { part: 0.8, lines: 3, delayMs: 60 },
  { part: 1, lines: 5, delayMs: 60 },
] as const;

/** Runs the program again and again until it finishes. Resolves to the number of kills. */
export async function runKilled(plan: StreamPlan, options: KillOptions): Promise<number> {
  const { random, killsMax } = options;
  for (let kills = 0; ; ) {
    await using child = startChild('stream-pipeline', JSON.stringify(plan));
    const reader = new LineReader(child);
    if (kills < killsMax) {
      const share = random.float();
      const { lines, delayMs } = MOMENTS.find(({ part }) => share < part) ?? MOMENTS[0];
      await Promise.race([reader.untilLines(lines), child.ended]);
      await Promise.race([sleep(random.float() * delayMs), child.ended]);
      await child.kill();
    }
    const end = await child.ended;
    await reader.done;
    if (reader.isFinished) return kills;
    if (end !== 'SIGKILL') throw new Error(`the pipeline ended with ${end} after ${kills} kills`);
    kills += 1;
  }
}

/** Counts the lines that the program has written. */
class LineReader {
  readonly done: Promise<void>;
  isFinished = false;
  #count = 0;
  #waiting: { readonly count: number; readonly resolve: () => void } | undefined;

  constructor(child: ChildProgram) {
    this.done = this.#read(child);
  }

  untilLines(count: number): Promise<void> {
    if (this.#count >= count) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting = { count, resolve };
    });
  }

  async #read(child: ChildProgram): Promise<void> {
    for (let line = await child.nextLine(); line !== undefined; line = await child.nextLine()) {
      this.#count += 1;
      if (line === 'finished') this.isFinished = true;
      if (this.#waiting !== undefined && this.#count >= this.#waiting.count) {
        this.#waiting.resolve();
      }
    }
  }
}
