// Calls a function at a fixed rate. A late timer catches up, so the rate holds.
import { setTimeout as afterMs } from 'node:timers/promises';

export interface Pace {
  readonly perSecond: number;
  readonly count: number;
}

/** Resolves when the last call has begun. */
export async function atPace(
  { perSecond, count }: Pace,
  act: (index: number) => void,
): Promise<void> {
  const startMs = performance.now();
  for (let done = 0; done < count; ) {
    await afterMs(1);
    const due = Math.min(count, Math.ceil(((performance.now() - startMs) * perSecond) / 1_000));
    for (; done < due; done += 1) act(done);
  }
}
