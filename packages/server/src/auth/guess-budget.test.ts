import { createSystemClock, silentLogger, silentMetrics } from '@syncline/kernel';
import { expect, test } from 'vitest';
import { LimitWatch } from '../limit-watch.js';
import { serverLimits } from '../limits.js';
import { type LogLine, recordingLogger } from '../testing/test-server.js';
import { addressBlock, GuessBudget } from './guess-budget.js';

const GUESSES_MAX = serverLimits.authGuessesPerAddressMax.value;

function budgetAt() {
  const time = { ms: 0 };
  const clock = { ...createSystemClock(), monotonicMs: () => time.ms, nowMs: () => time.ms };
  const log: LogLine[] = [];
  const limits = new LimitWatch({ clock, logger: silentLogger, metrics: silentMetrics });
  return { time, log, budget: new GuessBudget({ clock, logger: recordingLogger(log), limits }) };
}

test('an address with too many wrong guesses is blocked, logged once, and may try again later', () => {
  const { budget, time, log } = budgetAt();
  for (let count = 1; count < GUESSES_MAX; count += 1) budget.failed('resp', '10.0.0.1');
  expect(budget.isBlocked('10.0.0.1')).toBe(false);
  budget.failed('resp', '10.0.0.1');
  budget.failed('http', '::ffff:10.0.0.1');
  expect(budget.isBlocked('10.0.0.1')).toBe(true);
  expect(budget.isBlocked('10.0.0.2')).toBe(false);
  expect(log).toMatchObject([{ level: 'warn', fields: { listener: 'resp', address: '10.0.0.1' } }]);
  time.ms += serverLimits.authGuessRefillMs.value;
  expect(budget.isBlocked('10.0.0.1')).toBe(false);
});

test('the number of tracked addresses is bounded', () => {
  const { budget } = budgetAt();
  budget.failed('http', '10.1.1.1', GUESSES_MAX);
  expect(budget.isBlocked('10.1.1.1')).toBe(true);
  for (let n = 0; n < serverLimits.authAddressesMax.value; n += 1) budget.failed('http', `a${n}`);
  expect(budget.isBlocked('10.1.1.1')).toBe(false);
});

test.each([
  ['10.0.0.1', '10.0.0.1'],
  ['::ffff:10.0.0.1', '10.0.0.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:0db8:1:2::9', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
])('%s counts as %s', (address, block) => {
  expect(addressBlock(address)).toBe(block);
});
