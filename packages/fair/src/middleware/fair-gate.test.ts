import { createSystemRandom } from '@syncline/kernel';
import { expect, test, vi } from 'vitest';
import type { FairTracker } from '../fair-tracker.js';
import type { Outcome } from '../outcome.js';
import { createFairTracker } from '../tracker.js';
import type { FairTrackerOptions } from '../tracker-options.js';
import { FairGate } from './fair-gate.js';
import type { HttpMiddlewareOptions, MiddlewareOptions } from './middleware-options.js';

const random = { ...createSystemRandom(), float: () => 0.99 };

type Asked = readonly [name: string];
type Answered = readonly [name: string, outcome: Outcome];
type Options = MiddlewareOptions<Asked, Answered>;

/**
 * `noisy` is at probability 1 without decay: every draw throttles it, and none throttles a caller with a few
 * failures.
 */
function setUp(options: Options = {}, trackerOptions: FairTrackerOptions = {}) {
  const tracker = createFairTracker({ ...trackerOptions, lambdaPerSecond: 0 }, { random });
  block(tracker, 'noisy');
  const gate = new FairGate<Asked, Answered>(tracker, options, {
    keyGenerator: (name) => name,
    classifyOutcome: (_name, outcome) => outcome,
  });
  const register = vi.spyOn(tracker, 'register');
  const report = vi.spyOn(tracker, 'report');
  return { tracker, gate, register, report };
}

function block(tracker: FairTracker, key: string): void {
  for (let failures = 0; failures < 30; failures += 1) tracker.report(key, 'failure');
}

async function admissionOf(gate: FairGate<Asked, Answered>, name: string) {
  const verdict = await gate.ask([name]);
  if (verdict.kind !== 'admitted') throw new Error(`${name} was rejected`);
  return verdict.admission;
}

test('F40 an admitted request is reported once, whatever else its answer does', async () => {
  const { gate, report } = setUp();
  const admission = await admissionOf(gate, 'quiet');
  admission.finish('quiet', 'success');
  admission.finish('quiet', 'failure');
  admission.abandon();
  admission.settle('failure');
  expect(report.mock.calls).toEqual([['quiet', 'success', { cost: 1 }]]);
});

test('F40 an unfinished answer is ignored, and cannot be finished later', async () => {
  const { gate, report } = setUp();
  const admission = await admissionOf(gate, 'quiet');
  admission.abandon();
  admission.finish('quiet', 'failure');
  expect(report.mock.calls).toEqual([['quiet', 'ignore', { cost: 1 }]]);
});

test('F40 a rejection is not reported', async () => {
  const { gate, report } = setUp();
  const verdict = await gate.ask(['noisy']);
  expect(verdict).toEqual({
    kind: 'rejected',
    decision: { throttled: true, wouldThrottle: true, retryAfterMs: 30_000 },
  });
  expect(report).not.toHaveBeenCalled();
});

test('F40 in shadow mode no request is rejected, and those that would have been are not reported', async () => {
  const { gate, register, report } = setUp({}, { shadow: true });
  const admission = await admissionOf(gate, 'noisy');
  admission.finish('noisy', 'failure');
  expect(register).toHaveBeenCalledOnce();
  expect(report).not.toHaveBeenCalled();
  (await admissionOf(gate, 'quiet')).finish('quiet', 'success');
  expect(report).toHaveBeenCalledOnce();
});

test('a key on the allow list is served, and changes nothing', async () => {
  const { gate, tracker } = setUp({}, { allowList: ['health'] });
  const admission = await admissionOf(gate, 'health');
  for (let times = 0; times < 30; times += 1) admission.finish('health', 'failure');
  expect(tracker.peek('health').probability).toBe(0);
});

test('skip bypasses a request: no decision, no report, and no key is computed', async () => {
  const keyGenerator = vi.fn(() => 'key');
  const { gate, register, report } = setUp({ skip: async () => true, keyGenerator });
  (await admissionOf(gate, 'noisy')).finish('noisy', 'failure');
  expect(keyGenerator).not.toHaveBeenCalled();
  expect(register).not.toHaveBeenCalled();
  expect(report).not.toHaveBeenCalled();
});

test('cost affects the decision and the report; a route can override it, and the key', async () => {
  const { gate, register, report } = setUp({ cost: 2 });
  (await admissionOf(gate, 'quiet')).finish('quiet', 'success');
  const verdict = await gate.ask(['quiet'], { cost: async () => 5, keyGenerator: () => 'tenant' });
  expect(verdict.kind).toBe('admitted');
  expect(register.mock.calls).toEqual([
    ['quiet', { cost: 2 }],
    ['tenant', { cost: 5 }],
  ]);
  expect(report.mock.calls).toEqual([['quiet', 'success', { cost: 2 }]]);
});

test.each([undefined, null, ''])('without a key (%s) a request is admitted', async (key) => {
  const { gate, register } = setUp({ keyGenerator: () => key });
  await admissionOf(gate, 'noisy');
  expect(register).toHaveBeenCalledWith('', { cost: 1 });
});

test.each(['keyGenerator', 'skip', 'cost'] as const)(
  'F41 what %s throws, or rejects with, reaches the caller and counts nothing',
  async (name) => {
    const error = new Error('no session');
    const throwing = () => {
      throw error;
    };
    for (const broken of [throwing, async () => throwing()]) {
      const { gate, register, report } = setUp({ [name]: broken });
      await expect(gate.ask(['quiet'])).rejects.toBe(error);
      expect(register).not.toHaveBeenCalled();
      expect(report).not.toHaveBeenCalled();
    }
  },
);

test('F41 what classifyOutcome throws is reported once, and the outcome is ignored', async () => {
  const cause = new Error('no body');
  const logger = { error: vi.fn() };
  const classifyOutcome = () => {
    throw cause;
  };
  const { gate, report } = setUp({ classifyOutcome, logger });
  for (const _ of [1, 2]) (await admissionOf(gate, 'quiet')).finish('quiet', 'success');
  expect(report.mock.calls).toEqual([
    ['quiet', 'ignore', { cost: 1 }],
    ['quiet', 'ignore', { cost: 1 }],
  ]);
  expect(logger.error.mock.calls).toEqual([
    ['classifyOutcome failed; the outcome is ignored', { cause }],
  ]);
});

test('F41 an async classifyOutcome returns no outcome: that is reported too, and its rejection is caught', async () => {
  const logger = { error: vi.fn() };
  const classifyOutcome = (async () => {
    throw new Error('no body');
  }) as unknown as () => Outcome;
  const { gate, report } = setUp({ classifyOutcome, logger });
  (await admissionOf(gate, 'quiet')).finish('quiet', 'success');
  expect(report.mock.calls).toEqual([['quiet', 'ignore', { cost: 1 }]]);
  expect(logger.error).toHaveBeenCalledOnce();
});

test('F41 without a logger it is a warning of Node', async () => {
  const warnings: string[] = []; // those of other code too
  const note = ({ message }: Error) => warnings.push(message);
  process.on('warning', note);
  const classifyOutcome = () => {
    throw new Error('no body');
  };
  const { gate } = setUp({ classifyOutcome });
  (await admissionOf(gate, 'quiet')).finish('quiet', 'success');
  await new Promise((resolve) => setImmediate(resolve));
  process.off('warning', note);
  expect(warnings).toContain(
    '@syncline/fair: classifyOutcome failed; the outcome is ignored (cause: Error: no body)',
  );
});

test.each([
  { statusCode: 418 },
  { keyGenerator: 'ip' },
  { skip: true },
  { handler: 'no' },
  { cost: '5' },
  { classifyOutcome: 1 },
])('options that cannot work are refused at construction: %o', (broken) => {
  const [field] = Object.keys(broken);
  expect(() => setUp(broken as unknown as HttpMiddlewareOptions<Asked, Answered>)).toThrow(
    expect.objectContaining({ code: 'invalid-argument', details: { field } }),
  );
});
