// Requests in which some fields have arbitrary values: each is accepted, or refused with a clear error, and never
// crashes.
import { SynclineError } from '@syncline/kernel';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JobPatch, JobQuery, JobSpec, LeaseRequest, Scope } from '../job.js';
import type { StateWrite, StoreSubscribeOptions } from '../job-store.js';
import { checkStateWrite } from './checked-write.js';
import {
  checkJobPatch,
  checkJobQuery,
  checkJobSpec,
  checkLeaseRequest,
  checkScope,
  checkSubscribeOptions,
} from './input.js';

const write: StateWrite = {
  jobId: 'j',
  incarnation: 'i',
  taskId: 0,
  epoch: 1,
  tag: 'a',
  status: 1,
  message: '',
  schemaVersion: 1,
  eventId: 'e',
  payload: {},
  ifVersion: 0,
  durability: 'synced',
};

const request: LeaseRequest = {
  jobId: 'j',
  incarnation: 'i',
  taskId: 0,
  action: 'claim',
  epoch: 0,
  ttlMs: 1_000,
  holder: '',
};

const spec: JobSpec = { jobId: 'j', numTasks: 1, expectedTags: ['a'], labels: { a: 'b' } };
const patch: JobPatch = { expectedTags: ['a'], labels: { a: 'b' } };
const query: JobQuery = { prefix: 'j', worst: 'failed', afterJobId: 'j', limit: 1 };
const scope: Scope = { taskId: 0, tag: 'a' };
const options: StoreSubscribeOptions = {
  scope,
  include: ['lease'],
  overflow: 'block',
  buffer: { maxEvents: 4, maxBytes: 65_536 },
};

const value = fc.oneof(
  fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true }),
  fc.constantFrom(null, undefined, '', 0, -1, 2 ** 53, Number.NaN, [], {}, '\ud800', '\u0000'),
  fc.double(),
  fc.string({ unit: 'binary', maxLength: 300 }),
);

/** A good request in which at least one field was replaced. */
function spoiled<T extends object>(good: T): fc.Arbitrary<T> {
  const names = fc.subarray(Object.keys(good), { minLength: 1 });
  return names
    .chain((chosen) => fc.record(Object.fromEntries(chosen.map((name) => [name, value]))))
    .map((changed) => ({ ...good, ...changed }));
}

function expectWords(check: () => unknown): void {
  try {
    check();
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(SynclineError);
    const { code, details, message } = thrown as SynclineError;
    expect(['invalid-argument', 'limit-exceeded']).toContain(code);
    expect(details).toHaveProperty(code === 'limit-exceeded' ? 'limit' : 'field');
    expect(message.length).toBeLessThan(400);
  }
}

describe('requests with any content', () => {
  test('J20 are accepted or refused with a clear error', () => {
    const requests = [
      spoiled(write).map((given) => () => checkStateWrite(given)),
      spoiled(request).map((given) => () => checkLeaseRequest(given)),
      spoiled(spec).map((given) => () => checkJobSpec(given)),
      spoiled(patch).map((given) => () => checkJobPatch(given)),
      spoiled(query).map((given) => () => checkJobQuery(given)),
      spoiled(scope).map((given) => () => checkScope(given, 1)),
      spoiled(options).map((given) => () => checkSubscribeOptions(given, 1)),
    ];
    fc.assert(fc.property(fc.oneof(...requests), expectWords), { numRuns: 600 });
  });

  test('J20 are refused if a field has a type that no field has', () => {
    const checks: readonly [object, (given: never) => unknown][] = [
      [write, checkStateWrite],
      [request, checkLeaseRequest],
      [spec, checkJobSpec],
      [patch, checkJobPatch],
      [query, checkJobQuery],
      [scope, (given) => checkScope(given, 1)],
      [options, (given) => checkSubscribeOptions(given, 1)],
    ];
    for (const [good, check] of checks) {
      expect(() => check(good as never)).not.toThrow();
      for (const name of Object.keys(good)) {
        const bad = { ...good, [name]: () => 1 } as never;
        expect(() => check(bad), name).toThrow(SynclineError);
      }
    }
  });

  test('J20 what passed once passes again, unchanged', () => {
    const idempotent = fc.record({
      message: fc.string({ unit: 'binary', maxLength: 200 }),
      payload: fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 5 }),
      status: fc.integer({ min: -2_147_483_648, max: 2_147_483_647 }),
    });
    fc.assert(
      fc.property(idempotent, (given) => {
        const once = checkStateWrite({ ...write, ...(given as Partial<StateWrite>) });
        expect(checkStateWrite(once)).toEqual(once);
      }),
    );
  });
});
