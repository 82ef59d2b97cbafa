import { describe, expect, test } from 'vitest';
import { newHead } from './head.js';
import { JobCache } from './job-cache.js';
import { LoadedJob } from './loaded-job.js';

const ROOM = 1_000_000;

function jobOf(jobId: string): LoadedJob {
  const row = {
    jobId,
    incarnation: '1',
    numTasks: 1,
    schemaVersion: 1,
    expectedTags: [],
    labels: {},
    createdAtMs: 0,
    markedDeletedAtMs: 0,
    metadataRevision: 1,
  };
  const retention = { revisionsMax: 1, ageMs: 1, bytesMax: 1 };
  return new LoadedJob({ jobNo: 1, row, head: newHead(1) }, retention);
}

/** A cache whose loads end when the test says with what. */
function rig(bytesMax = ROOM) {
  const loads: ((job: LoadedJob | undefined) => void)[] = [];
  const counts: string[] = [];
  const metrics = { add: (name: string) => void counts.push(name), set() {}, observe() {} };
  const load = () => new Promise<LoadedJob | undefined>((resolve) => loads.push(resolve));
  return { cache: new JobCache({ metrics, load }, bytesMax), loads, counts };
}

describe('the cache of jobs', () => {
  test('loads a job once, however many ask', async () => {
    const { cache, loads } = rig();
    const asked = [cache.pin('a'), cache.pin('a')];
    const job = jobOf('a');
    loads[0]?.(job);
    expect(await Promise.all(asked)).toEqual([job, job]);
    expect([loads.length, job.pins]).toEqual([1, 2]);
  });

  test('J1 has the job that was created meanwhile, not the one that was loaded', async () => {
    const { cache, loads } = rig();
    const asked = cache.pin('a');
    const created = jobOf('a');
    cache.add(created);
    loads[0]?.(jobOf('a'));
    expect(await asked).toBe(created);
    expect([cache.peek('a'), cache.bytes]).toEqual([created, created.bytes]);
  });

  test('J1 loads once more what came and went meanwhile', async () => {
    const { cache, loads } = rig();
    const asked = cache.pin('a');
    const created = jobOf('a');
    cache.add(created);
    cache.remove(created);
    loads[0]?.(jobOf('a'));
    await Promise.resolve();
    await Promise.resolve();
    expect(cache.peek('a')).toBeUndefined();
    loads[1]?.(undefined);
    expect(await asked).toBeUndefined();
  });

  test('J1 takes no second job of a name', () => {
    const { cache } = rig();
    cache.add(jobOf('a'));
    expect(() => cache.add(jobOf('a'))).toThrow('J1');
  });

  test('counts reads alone', async () => {
    const { cache, loads, counts } = rig();
    const asked = cache.pinToRead('a');
    loads[0]?.(jobOf('a'));
    await asked;
    await cache.pinToRead('a');
    cache.pinNow('a');
    cache.touch('a');
    await cache.pin('a');
    expect(counts).toEqual(['syncline_jobs_cache_misses_total', 'syncline_jobs_cache_hits_total']);
  });
});
