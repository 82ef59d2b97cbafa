// Disks that fill up and get free space again.
import type { Workload } from '../workload.js';
import { pauseBetween, pickTarget } from './fault-pace.js';

type RangeMs = readonly [fromMs: number, toMs: number];

export const fullDisks = fullNowAndThen('full-disks', [500, 10_000], [10, 5_000]);
/** Often in the middle of something, and never for long. Not for stores that take long to reopen. */
export const brieflyFullDisks = fullNowAndThen('briefly-full-disks', [5, 300], [1, 100]);

function fullNowAndThen(name: string, betweenMs: RangeMs, fullMs: RangeMs): Workload {
  return {
    name,
    async start(context, signal) {
      while (await pauseBetween(context, betweenMs, signal)) {
        const victim = pickTarget(context);
        victim?.disk.adjust({ isFull: true });
        await pauseBetween(context, fullMs, signal);
        victim?.disk.adjust({ isFull: false });
      }
    },
  };
}
