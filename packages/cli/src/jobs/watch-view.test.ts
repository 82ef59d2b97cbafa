// The table of `jobs watch` in windows of all sizes. The pictures are golden data: `vitest -u` rewrites them.
import {
  aggregateStates,
  type JobInfo,
  type State,
  statusClass,
  type TaskLease,
} from '@syncline/jobs';
import { expect, test } from 'vitest';
import { displayWidth } from '../display-width.js';
import { type Paint, plainPaint } from '../paint.js';
import { type Connection, renderWatch, type WatchPicture } from './watch-view.js';

const FINISHED = 2_147_483_647;

const job: JobInfo = {
  jobId: 'nightly-42',
  incarnation: '1',
  numTasks: 8,
  expectedTags: ['ingest', 'parse', 'report'],
  labels: {},
  createdAtMs: 0,
  revision: 1_234,
  changedAtMs: 0,
};

function state(taskId: number, tag: string, status: number, message = ''): State {
  const facts = { timestampMs: 0, version: 1, revision: 1, eventId: 'e', schemaVersion: 1 };
  return {
    jobId: job.jobId,
    taskId,
    tag,
    status,
    statusClass: statusClass(status),
    message,
    ...facts,
  };
}

const lost: TaskLease = {
  taskId: 6,
  epoch: 1,
  state: 'lost',
  ttlMs: 1_000,
  expiresAtMs: 0,
  holder: 'worker-6',
  revision: 9,
};

const states = [
  ...[0, 1, 2, 3, 4].map((taskId) => state(taskId, 'ingest', FINISHED, '⚫ Finished')),
  state(5, 'ingest', -1, '🔴 connection reset by peer while reading page 12 of 40'),
  ...[6, 7].map((taskId) => state(taskId, 'ingest', 12, 'page 12 of 40')),
  state(0, 'parse', FINISHED, '⚫ Finished'),
  ...[1, 2].map((taskId) => state(taskId, 'parse', 5, 'page 5')),
  state(3, 'parse', -2, '🟡 日本語のページ: 3 rows skipped'),
];

function picture(
  given: Partial<WatchPicture> & { readonly states?: readonly State[] },
): WatchPicture {
  const shownJob = given.job ?? job;
  const lostTaskIds = new Set((given.lost ?? [lost]).map(({ taskId }) => taskId));
  const input = {
    job: shownJob,
    states: given.states ?? states,
    lostTaskIds,
  };
  const progress = aggregateStates(input, {});
  return {
    job: shownJob,
    scope: {},
    progress: { ...progress, revision: 1_234 },
    lost: [lost],
    connection: { kind: 'live' },
    ageMs: 2_000,
    hint: 'Ctrl-C to quit',
    ...given,
  };
}

const down: Connection = {
  kind: 'down',
  attempt: 3,
  reason: 'cannot reach http://127.0.0.1:7400 (connection refused)',
};
const manyTags = Array.from({ length: 40 }, (_, at) => `tag-${String(at).padStart(2, '0')}`);
const many = {
  job: { ...job, expectedTags: manyTags },
  states: [
    ...manyTags
      .slice(0, 30)
      .flatMap((tag) => [0, 1, 2, 3, 4, 5, 6, 7].map((task) => state(task, tag, FINISHED))),
    state(2, 'tag-35', -1, '🔴 no'),
  ],
};
const large = {
  job: {
    ...job,
    jobId: 'a'.repeat(100),
    numTasks: 100_000,
    expectedTags: ['t'.repeat(128), '日'.repeat(40)],
  },
  states: [state(99_999, '日'.repeat(40), -7, '👩‍👩‍👧‍👦'.repeat(500))],
};

const PICTURES: readonly WatchPicture[] = [
  picture({}),
  picture({ connection: down, ageMs: 62_000 }),
  picture({ states: [], lost: [], connection: { kind: 'loading', states: 12_345 } }),
  picture({ job: { ...job, expectedTags: [], deletedAtMs: 1 }, states: [], lost: [] }),
  picture(many),
  picture(large),
];

test.each([
  { columns: 40, rows: 30 },
  { columns: 80, rows: 24 },
  { columns: 120, rows: 30 },
])('$columns × $rows', async (screen) => {
  const shown = PICTURES.map((one) => renderWatch(one, { paint: plainPaint, screen }).join('\n'));
  await expect(`${shown.join('\n-----\n')}\n`).toMatchFileSnapshot(
    `../../testdata/jobs-watch-${screen.columns}.txt`,
  );
});

test('nothing wraps or scrolls at any size, and colors do not change widths', () => {
  const color: Paint = (_, text) => `\u001b[31m${text}\u001b[0m`;
  for (const one of PICTURES) {
    for (let columns = 8; columns <= 200; columns += 11) {
      for (const rows of [1, 2, 5, 8, 24]) {
        const lines = renderWatch(one, { paint: plainPaint, screen: { columns, rows } });
        expect(lines.length).toBeLessThanOrEqual(rows);
        const widths = lines.map(displayWidth);
        expect(Math.max(...widths)).toBeLessThanOrEqual(columns);
        const painted = renderWatch(one, { paint: color, screen: { columns, rows } });
        expect(painted.map(displayWidth)).toEqual(widths);
      }
    }
  }
});

test('rows that do not fit are counted, and failures are always shown', () => {
  const screen = { columns: 80, rows: 12 };
  const text = renderWatch(picture(many), { paint: plainPaint, screen }).join('\n');
  expect(text).toContain('tag-35');
  expect(text).toMatch(/… \d+ more tags, 30 of them finished/);
});

test('control characters in names and messages are escaped', () => {
  const evil = '\u001b[2J\u009b2J\u0007\n';
  const screen = { columns: 120, rows: 30 };
  const shown = renderWatch(
    picture({
      job: { ...job, expectedTags: [evil] },
      states: [state(0, evil, -1, evil)],
      lost: [{ ...lost, holder: evil }],
      scope: { tag: evil },
      connection: { ...down, reason: evil },
    }),
    { paint: plainPaint, screen },
  );
  expect(shown.join('').match(/\p{Cc}/gu)).toBeNull();
});

test('a state without a message is described by its class, and a custom status by its number', () => {
  const noteOf = (status: number) => {
    const shown = picture({
      job: { ...job, numTasks: 1, expectedTags: ['ingest'] },
      states: [state(0, 'ingest', status)],
    });
    const lines = renderWatch(shown, { paint: plainPaint, screen: { columns: 160, rows: 20 } });
    return /task 0 {2}(.*)/.exec(lines.join('\n'))?.[1]?.trimEnd();
  };
  expect([2, -1, 20, -3].map(noteOf)).toEqual(['running', 'failed', 'status 20', 'status -3']);
});
