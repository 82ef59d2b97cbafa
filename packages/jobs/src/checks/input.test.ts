// The bad-input table of whole requests: each with one wrong field, and each limit at n − 1, n and n + 1.
import { describe, expect, test } from 'vitest';
import type { LeaseRequest } from '../job.js';
import type { StateWrite } from '../job-store.js';
import { jobsLimits } from '../limits.js';
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
  jobId: 'nightly',
  incarnation: 'i1',
  taskId: 3,
  epoch: 2,
  tag: 'ingest',
  status: 20,
  message: '',
  schemaVersion: 1,
  eventId: 'e1',
};

const request: LeaseRequest = {
  jobId: 'nightly',
  incarnation: 'i1',
  taskId: 3,
  action: 'claim',
  epoch: 0,
  ttlMs: 30_000,
  holder: '',
};

/** `ok`, or code and field or limit. */
function answer(check: () => unknown): string {
  try {
    check();
    return 'ok';
  } catch (thrown) {
    const { code, details } = thrown as {
      code: string;
      details: { field?: string; limit?: string };
    };
    return `${code} ${details.field ?? details.limit}`;
  }
}

type Rows = readonly (readonly [
  field: string,
  good: readonly unknown[],
  bad: readonly unknown[],
])[];

function tryFields(rows: Rows, check: (changed: Record<string, unknown>) => unknown): void {
  for (const [field, good, bad] of rows) {
    for (const value of good)
      expect([value, answer(() => check({ [field]: value }))]).toEqual([value, 'ok']);
    for (const value of bad) {
      const actual = answer(() => check({ [field]: value }));
      expect([value, actual]).toEqual([value, `invalid-argument ${field}`]);
    }
  }
}

const notWhole = [1.5, Number.NaN, Number.POSITIVE_INFINITY, '1', null];

describe('whole requests', () => {
  test('J20 a write of a state', () => {
    const tasksMax = jobsLimits.tasksPerJobMax.value;
    const rows: Rows = [
      ['jobId', ['a'], ['', 'a/b', undefined]],
      ['incarnation', ['', '17'], [17, undefined]],
      ['taskId', [0, tasksMax - 2, tasksMax - 1], [-1, tasksMax, undefined, ...notWhole]],
      ['epoch', [0, 1, 4_294_967_295], [-1, 4_294_967_296, undefined, ...notWhole]],
      ['tag', ['a'], ['', undefined]],
      [
        'status',
        [-2_147_483_648, -1, 0, 2_147_483_647],
        [-2_147_483_649, 2_147_483_648, undefined, ...notWhole],
      ],
      ['message', ['', 'a'], [1, undefined]],
      ['progress', [undefined, 0, 0.4, 1], [-0.01, 1.01, Number.NaN, '1', null]],
      ['schemaVersion', [0, 1, 4_294_967_295], [-1, 4_294_967_296, undefined, ...notWhole]],
      ['eventId', ['e'], ['', 'é', undefined]],
      ['ifVersion', [undefined, 0, 2 ** 53 - 1], [-1, 2 ** 53, ...notWhole]],
      ['durability', [undefined, 'synced', 'buffered'], ['none', null, 1]],
      ['payload', [undefined, {}], [null, 1, 'a', [], new Date(0)]],
    ];
    tryFields(rows, (changed) => checkStateWrite({ ...write, ...changed }));
  });

  test('J20 a request for a lease', () => {
    const { leaseTtlMinMs, leaseTtlMaxMs } = jobsLimits;
    const [least, most] = [leaseTtlMinMs.value, leaseTtlMaxMs.value];
    const rows: Rows = [
      ['action', ['claim', 'renew', 'release'], ['', 'Claim', undefined]],
      ['ttlMs', [0, least, least + 1, most - 1, most], [-1, 1, least - 1, most + 1, ...notWhole]],
      ['holder', ['', 'host'], ['a\nb', undefined]],
      ['taskId', [0], [-1, undefined]],
      ['epoch', [0], [-1, undefined]],
    ];
    tryFields(rows, (changed) => checkLeaseRequest({ ...request, ...changed }));
  });

  test('J20 what a job is created with', () => {
    const tasksMax = jobsLimits.tasksPerJobMax.value;
    const rows: Rows = [
      ['jobId', ['a'], ['', '-', undefined]],
      ['numTasks', [1, 2, tasksMax - 1, tasksMax], [0, -1, tasksMax + 1, undefined, ...notWhole]],
      ['expectedTags', [undefined, [], ['a']], [[''], 'a', [1], null]],
      ['labels', [undefined, {}, { a: '' }], [null, [], 'a', { a: 1 }, { '': 'a' }, { a: '\0' }]],
    ];
    tryFields(rows, (changed) => checkJobSpec({ jobId: 'a', numTasks: 1, ...changed }));
  });

  test('J20 labels and expected tags at n − 1, n and n + 1', () => {
    const labels = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`l${i}`, 'v']));
    const tags = (count: number) => Array.from({ length: count }, (_, i) => `t${i}`);
    const patches = [
      [{ labels: labels(15) }, { labels: labels(16) }, { labels: labels(17) }, 'labelsMax'],
      [named(63), named(64), named(65), 'labelNameBytesMax'],
      [valued(255), valued(256), valued(257), 'labelValueBytesMax'],
      [
        { expectedTags: tags(255) },
        { expectedTags: tags(256) },
        { expectedTags: tags(257) },
        'tagsPerJobMax',
      ],
    ] as const;
    for (const [below, at, above, limit] of patches) {
      expect(answer(() => checkJobPatch(below))).toBe('ok');
      expect(answer(() => checkJobPatch(at))).toBe('ok');
      expect(answer(() => checkJobPatch(above))).toBe(`limit-exceeded ${limit}`);
    }
  });

  test('expected tags come in order of their bytes, each once; omitted options stay omitted', () => {
    const expectedTags = ['\u{1f7e2}', 'b', '\uff5e', 'a', 'b'];
    expect(checkJobPatch({ expectedTags })).toEqual({
      expectedTags: ['a', 'b', '\uff5e', '\u{1f7e2}'],
    });
  });

  test('J20 scopes, with and without the job', () => {
    expect(answer(() => checkScope({}))).toBe('ok');
    expect(answer(() => checkScope({ taskId: 7, tag: 'a' }, 8))).toBe('ok');
    expect(answer(() => checkScope({ taskId: 8 }, 8))).toBe('invalid-argument taskId');
    expect(answer(() => checkScope({ taskId: -1 }))).toBe('invalid-argument taskId');
    expect(answer(() => checkScope({ tag: '' }))).toBe('invalid-argument tag');
  });

  test('J20 lists of jobs', () => {
    const rows: Rows = [
      ['prefix', [undefined, '', 'a'], [1, null]],
      ['worst', [undefined, 'failed', 'not-started'], ['bad', 1, null]],
      ['afterJobId', [undefined, 'a'], ['', 'a b', 1]],
      ['limit', [undefined, 1, 1_000, 1_001], [0, -1, ...notWhole]],
    ];
    tryFields(rows, (changed) => checkJobQuery(changed));
    expect(checkJobQuery({}).limit).toBe(jobsLimits.listJobsMax.value);
    expect(checkJobQuery({ limit: 1_001 }).limit).toBe(1_000);
  });

  test('J20 options of a subscriber', () => {
    const check = (options: object) =>
      answer(() => checkSubscribeOptions({ scope: {}, ...options }, 8));
    const events = (maxEvents: number) => check({ buffer: { maxEvents } });
    const bytes = (maxBytes: number) => check({ buffer: { maxBytes } });
    expect([3, 4, 5, 65_535, 65_536, 65_537].map(events)).toEqual([
      'invalid-argument buffer.maxEvents',
      ...['ok', 'ok', 'ok', 'ok'],
      'invalid-argument buffer.maxEvents',
    ]);
    expect([65_535, 65_536, 2 ** 24, 2 ** 24 + 1].map(bytes)).toEqual([
      'invalid-argument buffer.maxBytes',
      ...['ok', 'ok'],
      'invalid-argument buffer.maxBytes',
    ]);
    expect(check({ overflow: 'drop' })).toBe('invalid-argument overflow');
    expect(check({ include: ['state'] })).toBe('invalid-argument include');
    expect(check({ scope: { taskId: 8 } })).toBe('invalid-argument taskId');
    expect(checkSubscribeOptions({ scope: {} })).toEqual({
      scope: {},
      include: [],
      overflow: 'block',
      buffer: { maxEvents: 256, maxBytes: 1_048_576 },
    });
  });
});

function named(length: number) {
  return { labels: { ['n'.repeat(length)]: '' } };
}

function valued(length: number) {
  return { labels: { a: 'v'.repeat(length) } };
}
