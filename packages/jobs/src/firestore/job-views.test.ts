// Which jobs leave when the caches are full.
import { silentMetrics } from '@syncline/kernel';
import { expect, test } from 'vitest';
import type { JobRow } from '../core/rows.js';
import { jobsLimits } from '../limits.js';
import type { JobView, JobViewDeps } from './job-view.js';
import { JobViews } from './job-views.js';

const { value: bytesMax } = jobsLimits.cacheBytesMax;

type Hooks = Pick<JobViewDeps, 'onGrown' | 'onEnded'>;

/** As much of a view as `JobViews` looks at. */
class FakeView {
  readonly #hooks: Hooks;
  readonly usedAtMs: number;
  isInUse = false;
  #bytes = 0;

  constructor(hooks: Hooks, usedAtMs: number) {
    this.#hooks = hooks;
    this.usedAtMs = usedAtMs;
  }

  start(): void {}

  grow(bytes: number): void {
    this.#bytes += bytes;
    this.#hooks.onGrown(bytes);
  }

  async stop(): Promise<void> {
    this.#hooks.onEnded();
    this.grow(-this.#bytes);
  }
}

test('the bound holds as caches grow: the one not used for longest leaves, unless somebody waits', () => {
  const made: FakeView[] = [];
  const views = new JobViews({
    metrics: silentMetrics,
    create: (_, hooks) => {
      const view = new FakeView(hooks, made.length);
      made.push(view);
      return view as unknown as JobView;
    },
  });
  const open = (jobId: string) => views.open({ jobId } as JobRow);
  for (const jobId of ['waited for', 'older', 'newer']) open(jobId);
  const [waitedFor, older, newer] = made;
  if (waitedFor) waitedFor.isInUse = true;
  for (const view of made) view.grow(bytesMax / 4);
  newer?.grow(bytesMax / 4);
  expect(views.get('older')).toBe(older);
  newer?.grow(1);
  expect(views.get('older')).toBeUndefined();
  expect([views.get('waited for'), views.get('newer')]).toEqual([waitedFor, newer]);
});
