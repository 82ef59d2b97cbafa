// What the program children/stream-pipeline.ts reads and writes, and how it is killed until it has finished.
import { setTimeout as sleep } from 'node:timers/promises';
import type { SeededRandom } from '@syncline/kernel/testing';
import { startChild } from './child-program.js';

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

/** A kill early in a life meets the start of the process and its recovery. */
const EARLY_PART = 0.2;
const EARLY_MS = 400;
const LATE_MS = 250;

/** Runs the program again and again until it finishes. Resolves to the number of kills. */
export async function runKilled(plan: StreamPlan, options: KillOptions): Promise<number> {
  const { random, killsMax } = options;
  for (let kills = 0; ; ) {
    await using child = startChild('stream-pipeline', JSON.stringify(plan));
    const lines = readLines(child);
    if (kills < killsMax) {
      const isEarly = random.float() < EARLY_PART;
      if (!isEarly) await Promise.race([lines.ready, child.ended]);
      await Promise.race([sleep(random.float() * (isEarly ? EARLY_MS : LATE_MS)), child.ended]);
      await child.kill();
    }
    const end = await child.ended;
    if (await lines.isFinished) return kills;
    if (end !== 'SIGKILL') throw new Error(`the pipeline ended with ${end} after ${kills} kills`);
    kills += 1;
  }
}

function readLines(child: ReturnType<typeof startChild>) {
  let sayReady: () => void = () => undefined;
  const ready = new Promise<void>((resolve) => {
    sayReady = resolve;
  });
  const read = async () => {
    let isFinished = false;
    for (let line = await child.nextLine(); line !== undefined; line = await child.nextLine()) {
      if (line === 'ready') sayReady();
      if (line === 'finished') isFinished = true;
    }
    return isFinished;
  };
  return { ready, isFinished: read() };
}
