import { SynclineError } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { runSeeds } from './run-seeds.js';
import { formatFailure, formatJson, formatSummary, problemOf } from './seeds-report.js';
import type { Workload, WorkloadContext, WorkloadEntry } from './workload.js';

/** A workload of one node that runs `body`. */
function entryOf(
  start: (context: WorkloadContext) => Promise<void>,
  parts: Partial<WorkloadEntry> = {},
): WorkloadEntry {
  const create = (): Workload => ({ name: 'tiny', start });
  return { name: 'tiny', faults: [], bugs: ['planted'], probes: [], create, ...parts };
}

const quick = { firstSeed: 1, seedsCount: 30 };
const idle = ({ simulation }: WorkloadContext) => simulation.clock.sleep(10);

test('all seeds are run and summarized', async () => {
  const report = await runSeeds(entryOf(idle), quick);
  expect(problemOf(report)).toBeUndefined();
  expect(report).toMatchObject({ seedsCount: 30, simulatedMs: 300, events: 60 });
  expect(formatSummary(report)).toMatch(/^tiny: 30 seeds in .* events per second of one core/);
});

test('the first seed that fails ends the run, and the report says how to replay it', async () => {
  const failing = entryOf(async ({ simulation }) => {
    await simulation.clock.sleep(1);
    if (simulation.seed === 7) throw new SynclineError('corrupt', 'a finding');
  });
  const report = await runSeeds(failing, { ...quick, bug: 'planted' });
  expect(report.failed?.seed).toBe(7);
  expect(report.seedsCount).toBe(7);
  const text = report.failed && formatFailure(report, report.failed, 'abc1234');
  expect(text).toMatch(/a finding/);
  expect(text).toMatch(/commit abc1234, seed 7, faults: none/);
  expect(text).toMatch(/npm run test:sim -- --workload tiny --seed 7 --bug planted$/);
  expect(JSON.parse(formatJson(report, 'abc1234'))).toMatchObject({ failedSeed: 7 });
});

test('a seed whose two runs differ is found', async () => {
  let runs = 0; // what a simulation must not have: state from earlier runs
  const leaking = entryOf(async ({ simulation }) => {
    runs += 1;
    await simulation.clock.sleep(runs > 9 ? 2 : 1);
  });
  const report = await runSeeds(leaking, { ...quick, isTwice: true });
  expect(report.unrepeatableSeed).toBe(5);
  expect(problemOf(report)).toMatch(/seed 5 gave two different traces/);
});

test('a probe that was never hit fails a run of 100 seeds, but not a short one', async () => {
  const probing = entryOf(
    async (context) => {
      context.simulation.chaos.probe('often');
      await idle(context);
    },
    { probes: ['often', 'never'] },
  );
  const long = await runSeeds(probing, { firstSeed: 1, seedsCount: 100 });
  expect(problemOf(long)).toBe('100 seeds never reached never');
  expect(long.probes.get('often')).toBe(100);
  expect(problemOf(await runSeeds(probing, quick))).toBeUndefined();
});

test('seeds pick faults, which end before the check', async () => {
  const log: string[] = [];
  const fault = (name: string): Workload => ({
    name,
    async start({ simulation }, signal) {
      await simulation.clock.sleep(1000, signal).catch(() => log.push(name));
    },
  });
  const entry = entryOf(idle, { faults: [fault('a'), fault('b')] });
  const create = (): Workload => ({
    ...entry.create(undefined),
    check: async () => void log.push('check'),
  });
  const combinations = new Set<string>();
  await runSeeds(
    { ...entry, create },
    {
      ...quick,
      onSeed: (_, { faults }) => {
        combinations.add(faults.join());
        expect(log.splice(0)).toEqual([...faults, 'check']);
      },
    },
  );
  expect(combinations).toEqual(new Set(['', 'a', 'b', 'a,b']));
});
