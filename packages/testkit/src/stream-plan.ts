// What the program children/stream-pipeline.ts reads and writes, and how it is killed until it has finished; and the
// requests and replies of children/stream-starter.ts.
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
  /**
   * The number of workers of the first process, the second, and so on; starting over after the last entry. Default 1.
   */
  readonly workers?: readonly number[];
  /** One worker ends in the middle of its work, and creates this file. */
  readonly exitOnce?: string;
}

export interface KillOptions {
  readonly random: SeededRandom;
  /** After this many kills it may run to its end. */
  readonly killsMax: number;
}

/** Kills by what the process was doing: loading its modules, recovering, or running. */
export interface Kills {
  loading: number;
  starting: number;
  running: number;
}

export const totalOf = ({ loading, starting, running }: Kills) => loading + starting + running;

/** When the kill comes: some time after this many lines of output. One line precedes the start, the next follows it. */
const MOMENTS = [
  { part: 0.05, lines: 0, delayMs: 300 },
  { part: 0.35, lines: 1, delayMs: 120 },
  { part: 0.6, lines: 2, delayMs: 120 },
  { part: 0.8, lines: 3, delayMs: 60 },
  { part: 1, lines: 6, delayMs: 60 },
] as const;

/** Runs the program again and again until it finishes. */
export async function runKilled(plan: StreamPlan, options: KillOptions): Promise<Kills> {
  const { random, killsMax } = options;
  const kills: Kills = { loading: 0, starting: 0, running: 0 };
  const { workers = [1] } = plan;
  for (let lives = 0; ; lives += 1) {
    const own = { ...plan, workers: [workers[lives % workers.length]] };
    await using child = startChild('stream-pipeline', JSON.stringify(own));
    const reader = new LineReader(child);
    if (lives < killsMax) {
      const share = random.float();
      const { lines, delayMs } = MOMENTS.find(({ part }) => share < part) ?? MOMENTS[0];
      await Promise.race([reader.untilLines(lines), child.ended]);
      await Promise.race([sleep(random.float() * delayMs), child.ended]);
      await child.kill();
    }
    const end = await child.ended;
    await reader.done;
    if (reader.isFinished) return kills;
    if (end !== 'SIGKILL') throw new Error(`the pipeline ended with ${end} after ${lives} kills`);
    kills[reader.count === 0 ? 'loading' : reader.count === 1 ? 'starting' : 'running'] += 1;
  }
}

/** Counts the lines that the program has written. */
class LineReader {
  readonly done: Promise<void>;
  count = 0;
  isFinished = false;
  #waiting: { readonly count: number; readonly resolve: () => void } | undefined;

  constructor(child: ChildProgram) {
    this.done = this.#read(child);
  }

  untilLines(count: number): Promise<void> {
    if (this.count >= count) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting = { count, resolve };
    });
  }

  async #read(child: ChildProgram): Promise<void> {
    for (let line = await child.nextLine(); line !== undefined; line = await child.nextLine()) {
      this.count += 1;
      if (line === 'finished') this.isFinished = true;
      if (this.#waiting !== undefined && this.count >= this.#waiting.count) {
        this.#waiting.resolve();
      }
    }
  }
}

/** A start on a directory that may be damaged. */
export interface StreamStart {
  /** A JSONL file of `{ user, n }`. */
  readonly input: string;
  /** Holds `state` and `out`. */
  readonly root: string;
  readonly backend: 'memory' | 'embedded';
  /** Runs until this many records are committed. */
  readonly records: number;
  readonly recordsPerEpoch: number;
  /** The name of a savepoint to make at the end. Default: none. */
  readonly savepoint?: string;
}

/** Empty if it succeeded. */
export interface StreamStartOutcome {
  readonly code?: string;
  readonly savepoints?: unknown;
}
