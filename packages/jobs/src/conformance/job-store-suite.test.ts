// The suite reports which of its cases do not apply to a store, and why.
import { createSystemClock } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { createMemoryJobStore } from '../embedded/embedded-adapter.js';
import type { JobStoreSubject, JobStoreSuiteOptions } from './job-store-subject.js';
import { jobStoreSuite } from './job-store-suite.js';

const { capabilities } = createMemoryJobStore();
const bare: JobStoreSuiteOptions<JobStoreSubject> = {
  name: 'bare',
  capabilities,
  create: async () => {
    const store = createMemoryJobStore();
    const dispose = () => store.close();
    return { store, clock: createSystemClock(), [Symbol.asyncDispose]: dispose };
  },
};

function leftOut(options: JobStoreSuiteOptions<JobStoreSubject>): readonly string[] {
  return jobStoreSuite(options).flatMap(({ name, skipped }) => (skipped ? [name] : []));
}

test('cases that do not apply are listed with the reason, and do nothing', async () => {
  const skipped = jobStoreSuite(bare).filter((one) => one.skipped);
  const reasons = new Set(skipped.map((one) => one.skipped));
  expect([...reasons].sort((left, right) => (left ?? '').localeCompare(right ?? ''))).toEqual([
    'faults.compact is not given',
    'faults.cut is not given',
    'faults.restart is not given',
    'faults.stall is not given',
    'faults.stepClock is not given',
    'pendingTimers is not given',
  ]);
  for (const { name, skipped: reason, run } of skipped) {
    expect(name.startsWith(`left out, ${reason}: `)).toBe(true);
    await run();
  }
});

test('with all options given, only cases for what the store does not promise are skipped', () => {
  const nothing = () => {};
  const faults = {
    cut: nothing,
    compact: nothing,
    stall: nothing,
    restart: nothing,
    stepClock: nothing,
  };
  const all = { ...bare, faults, pendingTimers: () => 0 };
  expect(leftOut(all)).toEqual([]);
  const latest = leftOut({ ...all, capabilities: { ...capabilities, history: 'latest' } });
  expect(latest.length).toBeGreaterThan(0);
  for (const name of latest) expect(name).toContain('the store keeps the latest changes alone');
});

test('each case is either run or listed as skipped, whatever the options', () => {
  const plain = (names: readonly string[]) =>
    names.map((name) => name.replace(/^left out, .*?: /, ''));
  const names = (options: JobStoreSuiteOptions<JobStoreSubject>) =>
    new Set(plain(jobStoreSuite(options).map(({ name }) => name)));
  const more = { ...bare, faults: { compact: () => {} }, pendingTimers: () => 0 };
  for (const name of names(more)) expect(names(bare)).toContain(name);
});
